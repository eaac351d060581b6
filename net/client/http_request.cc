#include "weft/net/client/http_request.h"

#include <utility>

namespace weft {

namespace http = boost::beast::http;

HttpRequest make_http_request(const ClientOptions& options, std::string_view path,
                              std::string body) {
  HttpRequest request(body.empty() ? http::verb::get : http::verb::post,
                      std::string(options.url.base).append(path), 11);
  request.set(http::field::host, options.url.authority());
  request.set(http::field::user_agent, "weft/" WEFT_VERSION);
  if (!options.api_key.empty())
    request.set(http::field::authorization, "Bearer " + options.api_key);
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = std::move(body);
  request.prepare_payload();
  return request;
}

}  // namespace weft
