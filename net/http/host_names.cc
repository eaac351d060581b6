#include "weft/net/http/host_names.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <optional>
#include <string>

#include "weft/net/http/header_values.h"

namespace weft {

namespace ip = boost::asio::ip;
using boost::beast::iequals;

namespace {

constexpr std::string_view kLocalhost = "localhost";
constexpr std::string_view kBelowLocalhost = ".localhost";

std::optional<ip::address> address_in(std::string_view text) {
  boost::system::error_code bad;
  auto address = ip::make_address(std::string(text), bad);
  if (bad) return std::nullopt;
  return address;
}

bool is_below_localhost(std::string_view name) {
  return name.size() > kBelowLocalhost.size() &&
         iequals(name.substr(name.size() - kBelowLocalhost.size()), kBelowLocalhost);
}

}  // namespace

std::string_view name_in_host(std::string_view host) noexcept {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  }
  return host.substr(0, host.rfind(':'));
}

bool is_loopback_address(std::string_view text) {
  const auto address = address_in(text);
  if (!address) return false;
  if (address->is_loopback()) return true;
  return address->is_v6() && address->to_v6().is_v4_mapped() &&
         ip::make_address_v4(ip::v4_mapped, address->to_v6()).is_loopback();
}

bool is_own_host(std::string_view host, std::string_view names) {
  std::string_view name = name_in_host(host);
  if (name.ends_with('.')) name.remove_suffix(1);  // a dot at the end is DNS's root
  if (name.empty()) return false;
  if (iequals(name, kLocalhost) || is_below_localhost(name) || address_in(name)) return true;
  return std::ranges::any_of(
      list_items(names), [name](std::string_view own) { return own == "*" || iequals(own, name); });
}

}  // namespace weft
