#pragma once

#include <string_view>

namespace weft {

/// Returns the name or address in a Host header or behind an origin's "//": without its port, and
/// without the brackets of IPv6. Empty where the brackets do not match.
[[nodiscard]] std::string_view name_in_host(std::string_view host) noexcept;

/// Whether `text` is an address of this machine's loopback, IPv4, IPv6 or IPv4 in IPv6.
[[nodiscard]] bool is_loopback_address(std::string_view text);

/// Whether a Host header names a server on the loopback interface: by an address, as "localhost",
/// as a name below ".localhost" (RFC 6761, section 6.3), or by one of `names`, a list with commas
/// in which "*" matches any name.
///
/// The check is needed because the owner of a DNS name can point it to 127.0.0.1 after a browser
/// has loaded a page from there. The browser then takes this server for that page's own. Only the
/// name in the Host header shows the difference.
[[nodiscard]] bool is_own_host(std::string_view host, std::string_view names);

}  // namespace weft
