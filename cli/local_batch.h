#pragma once

#include <memory>

#include "weft/cli/batch_backend.h"
#include "weft/cli/local_service.h"

namespace weft::cli {

/// A model in this process, asked as a server would be.
class LocalBatch final : public BatchBackend {
 public:
  explicit LocalBatch(std::unique_ptr<LocalService> local) : local_(std::move(local)) {}

  [[nodiscard]] boost::asio::awaitable<Result<HttpAnswer>> ask(std::string path,
                                                               std::string body) override;

 private:
  std::unique_ptr<LocalService> local_;
};

}  // namespace weft::cli
