#pragma once

#include <boost/beast/http/verb.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "weft/net/http/http_reply.h"
#include "weft/net/routes/route.h"

namespace weft {

/// Finds the route of a request by its method and path. Immutable, thread-safe.
class Router {
 public:
  /// `routes` has each method of a path once; it must outlive the router.
  constexpr explicit Router(std::span<const Route> routes) noexcept : routes_(routes) {}

  /// Returns the route for this method and path; HEAD finds the route of GET. Otherwise returns the
  /// refusal. 404 when no route has the path, with the path that the client may have meant. 405
  /// when the path has other methods, which are in Allow.
  [[nodiscard]] std::variant<const Route*, HttpReply> find(boost::beast::http::verb method,
                                                           std::string_view path) const;

 private:
  [[nodiscard]] HttpReply refusal(std::string_view path) const;
  /// Returns a known path that the client may have meant: `path` with "/v1" in front, or without
  /// its first parts. Finds "/v1/models" for "/models", "/v1/v1/models" and "/openai/v1/models".
  /// Empty where there is none.
  [[nodiscard]] std::string nearest(std::string_view path) const;

  std::span<const Route> routes_;
};

/// Whether `path` matches `pattern`.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view path) noexcept;

/// Returns the part of `path` at the place of "{id}" or "{name}" in `pattern`; empty when the
/// pattern has neither or does not match.
[[nodiscard]] std::string_view id_in(std::string_view pattern, std::string_view path) noexcept;

}  // namespace weft
