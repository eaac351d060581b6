#include "weft/net/service/local_caller.h"

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>

#include "weft/net/http/host_names.h"

namespace weft {
namespace {

// Headers of browsers and proxies, which can pass on other people's requests from this machine.
constexpr std::array<std::string_view, 6> kBrought = {
    "Origin", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via"};

}  // namespace

bool is_local_caller(const boost::beast::http::request_header<>& header, std::string_view client) {
  // The log writes IPv6 without brackets.
  const bool here = client.empty() || client == kUnixClient ||
                    is_loopback_address(client.substr(0, client.rfind(':')));
  if (!here) return false;
  if (std::ranges::any_of(kBrought, [&](auto name) { return header.count(name) > 0; }))
    return false;
  const std::string_view host = header[boost::beast::http::field::host];
  const std::string_view name = name_in_host(host);
  return host.empty() || boost::beast::iequals(name, "localhost") || is_loopback_address(name);
}

}  // namespace weft
