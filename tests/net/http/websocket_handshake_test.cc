#include "weft/net/http/websocket_handshake.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

namespace weft {
namespace {

namespace http = boost::beast::http;

/// Makes the header of a valid handshake with these fields besides.
http::request_header<> handshake(
    const std::vector<std::pair<std::string_view, std::string_view>>& more = {}) {
  http::request_header<> header;
  header.version(11);
  header.method(http::verb::get);
  header.target("/v1/responses");
  header.set("Host", "weft:8080");
  header.set("Connection", "keep-alive, Upgrade");
  header.set("Upgrade", "WebSocket");
  header.set("Sec-WebSocket-Version", "13");
  header.set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  for (const auto& [name, value] : more) header.insert(name, value);
  return header;
}

/// Returns the status of the refusal; 101 when there is none.
unsigned status_of(const http::request_header<>& header) {
  const auto refusal = refuse_handshake(header);
  return refusal ? refusal->status : 101;
}

/// Returns the status when one field is replaced.
unsigned status_with(std::string_view name, std::string_view value) {
  auto header = handshake();
  header.set(name, value);
  return status_of(header);
}

TEST(WebSocketHandshakeTest, TakesOneThatIsAsItShouldBe) {
  EXPECT_EQ(status_of(handshake()), 101U);
  EXPECT_EQ(status_with("Upgrade", "h2c, websocket"), 101U);
}

TEST(WebSocketHandshakeTest, RefusesWhatIsNoUpgrade) {
  EXPECT_EQ(status_with("Connection", "close"), 426U);
  EXPECT_EQ(status_with("Upgrade", "h2c"), 426U);
  auto old = handshake();
  old.version(10);
  EXPECT_EQ(status_of(old), 426U);
  auto head = handshake();
  head.method(http::verb::head);
  EXPECT_EQ(status_of(head), 426U);
}

TEST(WebSocketHandshakeTest, RefusesAnotherVersionAndSaysWhichItSpeaks) {
  EXPECT_EQ(status_with("Sec-WebSocket-Version", "12"), 426U);
  EXPECT_EQ(status_of(handshake({{"Sec-WebSocket-Version", "13"}})), 426U);
  auto header = handshake();
  header.erase("Sec-WebSocket-Version");
  const auto refusal = refuse_handshake(header);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->headers.back(),
            (std::pair<std::string, std::string>("Sec-WebSocket-Version", "13")));
}

TEST(WebSocketHandshakeTest, WantsOneKeyOfSixteenBytes) {
  for (const std::string_view key : {"", "x", "AQIDBAUGBwgJCgsMDQ4P", "AQIDBAUGBwgJCgsMDQ4PEBE=",
                                     "AQIDBAUGBwgJCgsMDQ4PEA", "dGhlIHNhbXBsZSBub25jZQ!="}) {
    EXPECT_EQ(status_with("Sec-WebSocket-Key", key), 400U) << key;
  }
  EXPECT_EQ(status_of(handshake({{"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}})), 400U);
}

TEST(WebSocketHandshakeTest, JoinsListsThatComeInSeveralLines) {
  auto header = handshake();
  header.set("Connection", "keep-alive");
  header.insert("Connection", "Upgrade");
  header.insert("Sec-WebSocket-Protocol", "a");
  EXPECT_EQ(status_of(header), 101U);
  prepare_handshake(header);
  EXPECT_EQ(header.count("Connection"), 1U);
  EXPECT_EQ(header["Connection"], "keep-alive, Upgrade");
  EXPECT_EQ(header["Sec-WebSocket-Protocol"], "a");
}

TEST(WebSocketHandshakeTest, LeavesOutACompressionThatBeastWouldAnswerWrongly) {
  auto header =
      handshake({{"Sec-WebSocket-Extensions", "permessage-deflate; server_max_window_bits=8"}});
  prepare_handshake(header);
  EXPECT_EQ(header.count("Sec-WebSocket-Extensions"), 0U);
  header.set("Sec-WebSocket-Extensions", "permessage-deflate; server_max_window_bits=9");
  prepare_handshake(header);
  EXPECT_EQ(header.count("Sec-WebSocket-Extensions"), 1U);
}

}  // namespace
}  // namespace weft
