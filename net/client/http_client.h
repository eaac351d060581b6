#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "weft/net/client/connector.h"
#include "weft/net/client/http_request.h"

namespace weft {

/// A server's answer.
struct HttpAnswer {
  unsigned status = 0;
  std::string body{};
  std::string request_id{};
  std::chrono::milliseconds retry_after{0};  ///< 0 = not said
};

/// One connection to a server. It is kept between requests and opened again when it has closed. One
/// request at a time; on the connector's thread.
class HttpClient {
 public:
  explicit HttpClient(std::shared_ptr<Connector> connector) : connector_(std::move(connector)) {}

  /// Sends a request for `path`, which is appended to the URL's own; an empty `body` makes it a
  /// GET. kCannotConnect, kLost; the server may have carried out a request that was lost.
  [[nodiscard]] boost::asio::awaitable<Result<HttpAnswer>> ask(std::string path, std::string body,
                                                               std::chrono::milliseconds limit);

 private:
  using Parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  /// Writes the request and reads the answer. When an error comes before any byte of an answer,
  /// parser_ is unchanged.
  [[nodiscard]] boost::asio::awaitable<boost::system::error_code> exchange(
      const HttpRequest* request);

  std::shared_ptr<Connector> connector_;
  std::optional<NetStream> stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
};

}  // namespace weft
