#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "weft/core/error/error.h"
#include "weft/net/client/http_client.h"

namespace weft::cli {

/// The source of answers to a batch file's requests: a server, or a model in this process. On one
/// thread, for any number of requests at once.
class BatchBackend {
 public:
  BatchBackend() = default;
  BatchBackend(const BatchBackend&) = delete;
  BatchBackend& operator=(const BatchBackend&) = delete;
  virtual ~BatchBackend() = default;

  /// POSTs `body` to `path`. Errors: kCannotConnect and kLost; the request may have been answered.
  [[nodiscard]] virtual boost::asio::awaitable<Result<HttpAnswer>> ask(std::string path,
                                                                       std::string body) = 0;
};

}  // namespace weft::cli
