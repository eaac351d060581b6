// Loads over WebSockets, against a server whose messages a test writes.

#include <gmock/gmock.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/measure/server/server_load.h"
#include "weft/measure/server/websocket_load_client.h"
#include "weft/tests/fixture/stream_stub.h"

namespace weft::measure {
namespace {

using test::HttpStub;
using test::StreamStub;
using testing::HasSubstr;
using testing::SizeIs;
using Then = StreamStub::Script::Then;

constexpr auto kDelta = R"({"type":"response.output_text.delta","stream_id":"0","delta":"x"})";
constexpr auto kEnd = R"({"type":"response.completed","stream_id":"0",)"
                      R"("response":{"usage":{"input_tokens":9,"output_tokens":4}}})";

/// Makes the answer to an upgrade (RFC 6455, section 4.2.2).
std::string upgraded(const HttpStub::Request& request) {
  const std::string key =
      std::string(request["Sec-WebSocket-Key"]) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  std::array<unsigned char, 32> accept{};
  const int size = EVP_EncodeBlock(accept.data(), digest.data(), SHA_DIGEST_LENGTH);
  return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: " +
         std::string(reinterpret_cast<const char*>(accept.data()), static_cast<std::size_t>(size)) +
         "\r\n\r\n";
}

/// Makes a short text message of a server.
std::string frame(const std::string& text) {
  std::string bytes = "\x81";
  if (text.size() < 126) return bytes + static_cast<char>(text.size()) + text;
  return bytes + '\x7e' + static_cast<char>(text.size() / 256) +
         static_cast<char>(text.size() % 256) + text;
}

class WebSocketLoadTest : public testing::Test {
 protected:
  /// Returns the outcomes of so many requests at once, when each connection sends these messages.
  std::vector<Outcome> play(const std::vector<std::string>& messages, Then then,
                            std::size_t requests = 1, std::size_t max_streams = 8,
                            std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    return play(
        [=](const HttpStub::Request& request) {
          StreamStub::Script script{.pieces = {upgraded(request)}, .then = then};
          for (const std::string& message : messages) script.pieces.push_back(frame(message));
          return script;
        },
        requests, max_streams, limit);
  }
  std::vector<Outcome> play(StreamStub::Handler handler, std::size_t requests,
                            std::size_t max_streams, std::chrono::milliseconds limit) {
    boost::asio::io_context context{1};
    StreamStub server(std::move(handler));
    const auto connector =
        Connector::create(context, {.url = parse_server_url(server.url()).value()}).value();
    WebSocketLoadClient client(connector, {.api = ServerApi::kResponses}, limit, max_streams);
    ServerLoad player(context.get_executor(),
                      {.arrivals = std::vector<Arrival>(requests), .at_once = at_once_}, client);
    player.start([&context] { context.stop(); });
    context.run();
    connections_ = server.connections();
    words_ = player.words();
    return player.outcomes();
  }

  std::int32_t at_once_ = 0;
  int connections_ = 0;
  std::map<std::string, std::string> words_;
};

TEST_F(WebSocketLoadTest, FollowsAnAnswerOfItsStream) {
  const auto outcomes = play({kDelta, kDelta, kEnd}, Then::kHang);
  EXPECT_EQ(outcomes[0].error, "");
  EXPECT_THAT(outcomes[0].came, SizeIs(2));
  EXPECT_EQ(outcomes[0].prompt, 9);
  EXPECT_EQ(outcomes[0].output, 4);
}

TEST_F(WebSocketLoadTest, PutsNoMoreOnAConnectionThanItHasStreams) {
  constexpr auto kOther = R"({"type":"response.completed","stream_id":"1","response":{}})";
  const auto outcomes = play({kDelta, kEnd, kOther}, Then::kHang, 4, 2);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(connections_, 2);
}

TEST_F(WebSocketLoadTest, ChargesNobodyWithWhatComesLateForAnother) {
  constexpr auto kLate = R"({"type":"error","stream_id":"0","error":{"code":"too_late"}})";
  constexpr auto kNext = R"({"type":"response.completed","stream_id":"1"})";
  at_once_ = 1;
  const auto outcomes = play({kDelta, kEnd, kLate, kNext}, Then::kHang, 2, 1);
  EXPECT_EQ(outcomes[0].error, "");
  EXPECT_EQ(outcomes[1].error, "");
  EXPECT_EQ(connections_, 1);
}

TEST_F(WebSocketLoadTest, LooksAtNothingOfAStreamThatItDoesNotKnow) {
  const auto outcomes = play({R"({"type":"error","stream_id":"7","error":{"code":"late"}})",
                              R"({"type":"response.completed","stream_id":"mine"})", kDelta, kEnd},
                             Then::kHang);
  EXPECT_EQ(outcomes[0].error, "");
  EXPECT_THAT(outcomes[0].came, SizeIs(1));
}

TEST_F(WebSocketLoadTest, TellsTheErrorsOfAStreamFromThoseOfAll) {
  constexpr auto kOfStream =
      R"({"type":"error","stream_id":"0","error":{"code":"overloaded","message":"full"}})";
  const auto one =
      play({kOfStream, R"({"type":"response.completed","stream_id":"1"})"}, Then::kHang, 2);
  EXPECT_EQ(one[0].error, "error overloaded");
  EXPECT_EQ(one[1].error, "");
  EXPECT_EQ(words_.at("error overloaded"), "full");
  const auto all = play({R"({"type":"error","error":{"code":"broken"}})"}, Then::kHang, 2);
  EXPECT_EQ(all[0].error, "error broken");
  EXPECT_EQ(all[1].error, "error broken");
}

TEST_F(WebSocketLoadTest, FailsAllThatAConnectionHadWhenItIsLost) {
  const auto outcomes = play({kDelta}, Then::kClose, 3);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error, "lost");
  EXPECT_EQ(connections_, 1);
}

TEST_F(WebSocketLoadTest, SaysWhatIsNoEvent) {
  EXPECT_EQ(play({"nonsense"}, Then::kHang)[0].error, "bad answer");
  EXPECT_THAT(words_.at("bad answer"), HasSubstr("nonsense"));
}

TEST_F(WebSocketLoadTest, SaysThatTheServerWantsNoWebSocket) {
  const auto outcomes = play(
      [](const HttpStub::Request&) {
        return StreamStub::plain("403 Forbidden", "text/plain", "no");
      },
      1, 1, std::chrono::seconds(30));
  EXPECT_EQ(outcomes[0].error, "refused");
  EXPECT_THAT(words_.at("refused"), HasSubstr("403 Forbidden"));
}

TEST_F(WebSocketLoadTest, GivesUpASlowAnswer) {
  const auto outcomes = play({kDelta}, Then::kHang, 1, 1, std::chrono::milliseconds(100));
  EXPECT_EQ(outcomes[0].error, "timeout");
}

}  // namespace
}  // namespace weft::measure
