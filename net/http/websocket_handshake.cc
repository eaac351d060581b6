#include "weft/net/http/websocket_handshake.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <string>

#include "weft/net/http/header_values.h"
#include "weft/text/json/base64.h"

namespace weft {

namespace http = boost::beast::http;
using boost::beast::iequals;

namespace {

using Header = http::request_header<>;

/// Returns the values of all header lines of that name as one list.
std::string joined(const Header& header, http::field name) {
  std::string list;
  const auto [begin, end] = header.equal_range(name);
  for (auto line = begin; line != end; ++line) {
    if (!list.empty()) list += ", ";
    list += std::string_view(line->value());
  }
  return list;
}

bool has_token(const Header& header, http::field name, std::string_view token) {
  const std::string list = joined(header, name);
  return std::ranges::any_of(list_items(list),
                             [token](std::string_view item) { return iequals(item, token); });
}

/// Whether the header has a key of 16 bytes in base64.
bool has_key(const Header& header) {
  if (header.count(http::field::sec_websocket_key) != 1) return false;
  const std::string_view key = header[http::field::sec_websocket_key];
  const auto bytes = decode_base64(key);
  return key.size() == 24 && bytes && bytes->size() == 16;
}

HttpReply upgrade_required(std::string message) {
  HttpReply reply =
      error_reply({.status = 426, .code = "upgrade_required", .message = std::move(message)});
  reply.headers.emplace_back("Upgrade", "websocket");
  return reply;
}

}  // namespace

std::optional<HttpReply> refuse_handshake(const Header& header) {
  if (header.version() < 11 || header.method() != http::verb::get ||
      !has_token(header, http::field::connection, "upgrade") ||
      !has_token(header, http::field::upgrade, "websocket")) {
    return upgrade_required("GET here begins a WebSocket; a request is POSTed");
  }
  if (header.count(http::field::sec_websocket_version) != 1 ||
      std::string_view(header[http::field::sec_websocket_version]) != "13") {
    HttpReply reply = upgrade_required("the version of the WebSocket protocol must be 13");
    reply.headers.emplace_back("Sec-WebSocket-Version", "13");
    return reply;
  }
  if (!has_key(header)) {
    return error_reply(
        {.code = "bad_request", .message = "Sec-WebSocket-Key must be 16 bytes in base64"});
  }
  return std::nullopt;
}

void prepare_handshake(Header& header) {
  for (const http::field name :
       {http::field::connection, http::field::upgrade, http::field::sec_websocket_protocol,
        http::field::sec_websocket_extensions}) {
    if (header.count(name) > 1) header.set(name, joined(header, name));
  }
  const std::string_view extensions = header[http::field::sec_websocket_extensions];
  if (extensions.find("server_max_window_bits=8") != std::string_view::npos) {
    header.erase(http::field::sec_websocket_extensions);
  }
}

}  // namespace weft
