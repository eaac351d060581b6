#include "weft/net/service/local_caller.h"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <string>

namespace weft {
namespace {

namespace asio = boost::asio;

// A page that somebody on this machine has open, and whoever a proxy brings, come from here too.
constexpr std::array<std::string_view, 6> kBrought = {
    "Origin", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"};

/// What stands before the port, without the brackets of IPv6.
std::string_view without_port(std::string_view place) {
  if (place.starts_with('[')) {
    const std::size_t end = place.find(']');
    return end == std::string_view::npos ? std::string_view() : place.substr(1, end - 1);
  }
  return place.substr(0, place.rfind(':'));
}

bool is_loopback(std::string_view host) {
  boost::system::error_code bad;
  const auto address = asio::ip::make_address(std::string(host), bad);
  if (bad) return false;
  if (address.is_loopback()) return true;
  return address.is_v6() && address.to_v6().is_v4_mapped() &&
         asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback();
}

}  // namespace

bool is_local_caller(const boost::beast::http::request_header<>& header, std::string_view client) {
  // The log has IPv6 without brackets.
  const bool here =
      client.empty() || client == "unix" || is_loopback(client.substr(0, client.rfind(':')));
  if (!here) return false;
  if (std::ranges::any_of(kBrought, [&](auto name) { return header.count(name) > 0; }))
    return false;
  const std::string_view host = header[boost::beast::http::field::host];
  const std::string_view name = without_port(host);
  return host.empty() || boost::beast::iequals(name, "localhost") || is_loopback(name);
}

}  // namespace weft
