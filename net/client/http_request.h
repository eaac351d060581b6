#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>
#include <string_view>

#include "weft/net/client/connector.h"

namespace weft {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;

/// Makes a request, as all clients here send it. `path` is appended to the URL's own; an empty
/// `body` makes a GET, any other body is JSON.
[[nodiscard]] HttpRequest make_http_request(const ClientOptions& options, std::string_view path,
                                            std::string body);

}  // namespace weft
