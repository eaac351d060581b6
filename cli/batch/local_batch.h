#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "weft/cli/batch/batch_backend.h"
#include "weft/cli/local_service.h"

namespace weft::cli {

/// Asks a model in this process in the way of a server.
class LocalBatch final : public BatchBackend {
 public:
  explicit LocalBatch(std::unique_ptr<LocalService> local);
  /// Drops the requests under way.
  ~LocalBatch() override;

  [[nodiscard]] boost::asio::awaitable<Result<HttpAnswer>> ask(std::string path,
                                                               std::string body) override;

 private:
  class Call;
  using Calls = std::unordered_set<std::shared_ptr<Call>>;
  using Done = std::function<void(HttpAnswer)>;

  /// Runs on the service's thread.
  void start(const std::string& path, const std::string& body, Done done);

  std::unique_ptr<LocalService> local_;
  Calls calls_;  // requests under way; used only on the service's thread
};

}  // namespace weft::cli
