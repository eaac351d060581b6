#include "weft/net/routes/router.h"

#include <string>

namespace weft {

namespace http = boost::beast::http;

namespace {

constexpr std::string_view kHole = "{id}";

}  // namespace

std::variant<const Route*, HttpReply> Router::find(http::verb method, std::string_view path) const {
  const http::verb wanted = method == http::verb::head ? http::verb::get : method;
  for (const Route& route : routes_) {
    if (route.method == wanted && matches(route.path, path)) return &route;
  }
  return refusal(path);
}

HttpReply Router::refusal(std::string_view path) const {
  std::string allowed;
  for (const Route& route : routes_) {
    if (!matches(route.path, path)) continue;
    if (!allowed.empty()) allowed += ", ";
    allowed += http::to_string(route.method);
  }
  if (allowed.empty()) {
    return error_reply({.status = 404, .code = "not_found", .message = "there is no such path"});
  }
  HttpReply reply = error_reply(
      {.status = 405, .code = "method_not_allowed", .message = "this path is for " + allowed});
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

bool matches(std::string_view pattern, std::string_view path) noexcept {
  if (pattern.find(kHole) == std::string_view::npos) return pattern == path;
  return !id_in(pattern, path).empty();
}

std::string_view id_in(std::string_view pattern, std::string_view path) noexcept {
  const auto hole = pattern.find(kHole);
  if (hole == std::string_view::npos) return {};
  const std::string_view before = pattern.substr(0, hole);
  const std::string_view after = pattern.substr(hole + kHole.size());
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) ||
      !path.ends_with(after)) {
    return {};
  }
  return path.substr(before.size(), path.size() - before.size() - after.size());
}

}  // namespace weft
