#include "weft/net/routes/router.h"

#include <algorithm>
#include <array>
#include <string>

namespace weft {

namespace http = boost::beast::http;

namespace {

/// What a pattern has where a path has a name.
struct Hole {
  std::string_view mark;
  bool slashes;  ///< may be in the name
};
constexpr std::array kHoles = {Hole{"{id}", false}, Hole{"{name}", true}};

const Hole* hole_of(std::string_view pattern) noexcept {
  const auto* const found = std::ranges::find_if(kHoles, [pattern](const Hole& hole) {
    return pattern.find(hole.mark) != std::string_view::npos;
  });
  return found == kHoles.end() ? nullptr : found;
}

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
  if (hole_of(pattern) == nullptr) return pattern == path;
  return !id_in(pattern, path).empty();
}

std::string_view id_in(std::string_view pattern, std::string_view path) noexcept {
  const Hole* const hole = hole_of(pattern);
  if (hole == nullptr) return {};
  const auto place = pattern.find(hole->mark);
  const std::string_view before = pattern.substr(0, place);
  const std::string_view after = pattern.substr(place + hole->mark.size());
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) ||
      !path.ends_with(after)) {
    return {};
  }
  const auto name = path.substr(before.size(), path.size() - before.size() - after.size());
  return hole->slashes || name.find('/') == std::string_view::npos ? name : std::string_view();
}

}  // namespace weft
