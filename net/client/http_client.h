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

/// One connection to a server. It is kept between requests and made anew when it is gone. One
/// request at a time; on the connector's thread.
class HttpClient {
 public:
  explicit HttpClient(std::shared_ptr<Connector> connector) : connector_(std::move(connector)) {}

  /// Asks for `path`, which is put behind the URL's own; an empty `body` makes it a GET.
  /// kCannotConnect, kLost; a request that was lost may have been carried out.
  [[nodiscard]] boost::asio::awaitable<Result<HttpAnswer>> ask(std::string path, std::string body,
                                                               std::chrono::milliseconds limit);

 private:
  using Parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  /// Writes the request and reads the answer. An error without a byte of an answer leaves parser_
  /// as it was.
  [[nodiscard]] boost::asio::awaitable<boost::system::error_code> exchange(
      const HttpRequest* request);

  std::shared_ptr<Connector> connector_;
  std::optional<NetStream> stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
};

}  // namespace weft
