#include "weft/net/http/page_origin.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

#include "weft/net/http/header_values.h"

namespace weft {

namespace http = boost::beast::http;
using boost::beast::iequals;

namespace {

constexpr std::string_view kFetchSite = "Sec-Fetch-Site";

std::size_t port_in(std::string_view place) {
  const auto colon = place.rfind(':');
  const bool in_brackets = place.find(']', std::min(colon, place.size())) != std::string_view::npos;
  return in_brackets ? std::string_view::npos : colon;
}

/// Whether a page of this origin was loaded from the server that it sends requests to.
bool is_own_origin(std::string_view origin, std::string_view host) {
  const auto scheme_end = origin.find("://");
  if (scheme_end == std::string_view::npos || host.empty()) return false;
  std::string_view place = origin.substr(scheme_end + 3);
  // A proxy may have left the port out of `host`.
  if (port_in(host) == std::string_view::npos) place = place.substr(0, port_in(place));
  return iequals(place, host);
}

}  // namespace

bool is_for_foreign_page(const http::request_header<>& header, std::string_view cors_origins) {
  const std::string_view origin = header[http::field::origin];
  if (origin.empty() || header[kFetchSite] == "same-origin") return false;
  if (is_own_origin(origin, header[http::field::host])) return false;
  const bool by_browser = istarts_with(header[http::field::authorization], "Basic ");
  return !is_listed_origin(origin, by_browser && cors_origins == "*" ? "" : cors_origins);
}

}  // namespace weft
