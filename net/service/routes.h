#pragma once

#include <boost/beast/http/verb.hpp>
#include <span>
#include <string_view>

#include "weft/net/service/service.h"

namespace weft {

/// One method on one path.
struct Route {
  boost::beast::http::verb method;
  std::string_view path;     ///< "{id}" stands for any name; at the end, slashes may be in it
  bool guarded = true;       ///< wants a key, where there are keys
  bool wants_model = false;  ///< is refused while the model loads and while the server drains
  Outcome (*handle)(Service& service, const HttpCall& call);
};

/// All of them. docs/http-api.md explains them; a test compares the two.
[[nodiscard]] std::span<const Route> all_routes() noexcept;

/// Whether `path` is one that `pattern` stands for.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view path) noexcept;

/// The part of `path` that stands where `pattern` has "{id}".
[[nodiscard]] std::string_view id_in(std::string_view pattern, std::string_view path) noexcept;

}  // namespace weft
