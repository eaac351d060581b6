#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "weft/tests/net/plain_client.h"

namespace weft::test {

/// A client's frame of a WebSocket, with a mask that changes nothing.
inline std::string frame_of(std::string_view text) {
  std::string frame = "\x81";
  frame += static_cast<char>(0x80U | std::min<std::size_t>(text.size(), 126));
  if (text.size() >= 126) {
    frame += static_cast<char>(text.size() >> 8U);
    frame += static_cast<char>(text.size() & 255U);
  }
  return frame + std::string(4, '\0') + std::string(text);
}

/// What the server answers to a handshake.
inline std::string upgrade(PlainClient& client, std::string_view headers = {}) {
  client.get("/v1/responses",
             "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
                 std::string(headers));
  return client.read_until("\r\n\r\n");
}

}  // namespace weft::test
