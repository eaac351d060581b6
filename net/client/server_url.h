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
  std::string base{};  ///< the beginning of every path: "/proxy", or empty

  /// Returns the value of a Host header: "[::1]:8080". A port that is the scheme's default is left
  /// out.
  [[nodiscard]] std::string authority() const;
  /// Returns "https://host:port/base".
  [[nodiscard]] std::string text() const;
};

/// Whether `text` begins with http://, https://, ws:// or wss://.
[[nodiscard]] bool is_server_url(std::string_view text) noexcept;

/// Whether `text` is a host with a port, as a server's log shows them: "127.0.0.1:8080",
/// "[::1]:80", "host:8080/v1". A file may have such a name, too.
[[nodiscard]] bool is_server_address(std::string_view text) noexcept;

/// Parses a URL. A "/v1" at its end is left out, because every path begins with its own. An address
/// without a scheme gets http. NetErrc::kBadUrl says what is wrong.
[[nodiscard]] Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace weft
