#pragma once

#include <string>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft {

/// The parts of a server's URL.
struct ServerUrl {
  bool tls = false;
  std::string host{};  ///< a name or an address, without brackets
  std::string port{};
  std::string base{};  ///< the beginning of every path: "/proxy", or nothing

  /// Returns the value of a Host header: "[::1]:8080", without the scheme's own port.
  [[nodiscard]] std::string authority() const;
  /// Returns "https://host:port/base".
  [[nodiscard]] std::string text() const;
};

/// Whether it begins with http://, https://, ws:// or wss://.
[[nodiscard]] bool is_server_url(std::string_view text) noexcept;

/// Parses a URL. A "/v1" at its end is left out, since every path has its own. NetErrc::kBadUrl
/// says what is wrong.
[[nodiscard]] Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace weft
