#include "weft/net/routes/router.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace weft {

namespace http = boost::beast::http;

namespace {

/// A placeholder in a route's pattern, for a name in the path.
struct Hole {
  std::string_view mark;
  bool slashes;  ///< the name may have slashes
};
constexpr std::array kHoles = {Hole{"{id}", false}, Hole{"{name}", true}};

const Hole* hole_of(std::string_view pattern) noexcept {
  const auto* const found = std::ranges::find_if(kHoles, [pattern](const Hole& hole) {
    return pattern.find(hole.mark) != std::string_view::npos;
  });
  return found == kHoles.end() ? nullptr : found;
}

/// The path that most clients have at the end of their base URL; some leave it out or repeat it.
constexpr std::string_view kBase = "/v1";
/// The longest path for which nearest() searches. A longer path is no client's slip.
constexpr std::size_t kLongestPath = 256;

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
    std::string message = "there is no such path";
    if (const std::string near = nearest(path); !near.empty()) {
      message += "; there is " + near + ": see the client's base URL";
    }
    return error_reply({.status = 404, .code = "not_found", .message = std::move(message)});
  }
  HttpReply reply = error_reply(
      {.status = 405, .code = "method_not_allowed", .message = "this path is for " + allowed});
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

std::string Router::nearest(std::string_view path) const {
  const auto is_known = [this](std::string_view other) {
    return std::ranges::any_of(routes_,
                               [other](const Route& route) { return matches(route.path, other); });
  };
  if (path.size() > kLongestPath) return {};
  if (std::string with_base = std::string(kBase).append(path); is_known(with_base)) {
    return with_base;
  }
  for (std::size_t at = path.find('/', 1); at < path.size(); at = path.find('/', at + 1)) {
    if (is_known(path.substr(at))) return std::string(path.substr(at));
  }
  return {};
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
