#pragma once

#include <string_view>

namespace weft {

/// Returns the page at `/`: one HTML text, with its script and style inside.
[[nodiscard]] std::string_view web_page() noexcept;

/// The page loads nothing from elsewhere, and this policy forbids it to.
inline constexpr std::string_view kWebPagePolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self' ws: wss:; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

}  // namespace weft
