#include "weft/net/client/server_url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "weft/net/http/header_values.h"
#include "weft/net/net_error.h"

namespace weft {
namespace {

struct Scheme {
  std::string_view text;
  bool tls;
};
constexpr std::array<Scheme, 4> kSchemes = {
    {{"http://", false}, {"https://", true}, {"ws://", false}, {"wss://", true}}};

const Scheme* scheme_of(std::string_view text) noexcept {
  const auto* const found = std::ranges::find_if(
      kSchemes, [text](const Scheme& scheme) { return istarts_with(text, scheme.text); });
  return found == kSchemes.end() ? nullptr : found;
}

std::string_view default_port(bool tls) noexcept { return tls ? "443" : "80"; }

bool is_port(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

/// Whether a text has neither space nor control characters, which must not get into a header.
bool is_plain(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char byte) { return byte > ' ' && byte != '\x7f'; });
}

}  // namespace

std::string ServerUrl::authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != default_port(tls)) text.append(":").append(port);
  return text;
}

std::string ServerUrl::text() const { return (tls ? "https://" : "http://") + authority() + base; }

bool is_server_url(std::string_view text) noexcept { return scheme_of(text) != nullptr; }

bool is_server_address(std::string_view text) noexcept {
  constexpr std::string_view kOfNames =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  text = text.substr(0, text.find('/'));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || !is_port(text.substr(colon + 1))) {
    return false;
  }
  const std::string_view host = text.substr(0, colon);
  const bool six = host.starts_with('[') && host.ends_with(']');
  return six || host.find_first_not_of(kOfNames) == std::string_view::npos;
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  const auto bad = [text](std::string_view what) {
    return Error{NetErrc::kBadUrl, std::string(text).append(": ").append(what)};
  };
  const Scheme* const scheme = scheme_of(text);
  if (scheme == nullptr && is_server_address(text)) {
    return parse_server_url(std::string(kSchemes.front().text).append(text));
  }
  if (scheme == nullptr) return bad("begins with none of http://, https://, ws:// and wss://");
  if (!is_plain(text)) return bad("has a space or a control character in it");
  if (text.find_first_of("?#@") != std::string_view::npos) {
    return bad("has more than host, port and path");
  }
  std::string_view rest = text.substr(scheme->text.size());
  ServerUrl url{.tls = scheme->tls};
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  url.base = rest.substr(slash);
  rest = rest.substr(0, slash);
  while (url.base.ends_with('/')) url.base.pop_back();
  if (url.base.ends_with("/v1")) url.base.resize(url.base.size() - 3);
  std::size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return bad("has a [ without its ]");
    url.host = rest.substr(1, close - 1);
    colon = rest.find(':', close);
  } else {
    url.host = rest.substr(0, colon);
  }
  if (url.host.empty()) return bad("names no host");
  url.port = colon == std::string_view::npos ? default_port(url.tls) : rest.substr(colon + 1);
  if (!is_port(url.port)) return bad("has a port that is none");
  return url;
}

}  // namespace weft
