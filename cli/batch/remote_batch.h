#pragma once

#include <memory>
#include <vector>

#include "weft/cli/batch/batch_backend.h"

namespace weft::cli {

/// Asks a server, over as many connections as there are requests at once.
class RemoteBatch final : public BatchBackend {
 public:
  explicit RemoteBatch(std::shared_ptr<Connector> connector) : connector_(std::move(connector)) {}

  [[nodiscard]] boost::asio::awaitable<Result<HttpAnswer>> ask(std::string path,
                                                               std::string body) override;

 private:
  std::shared_ptr<Connector> connector_;
  std::vector<std::unique_ptr<HttpClient>> free_;  // connections without a request
};

}  // namespace weft::cli
