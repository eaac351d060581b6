// Bodies and messages that are too large for an I/O thread, over a server's own sockets.

#include <gmock/gmock.h>

#include <future>
#include <memory>

#include "weft/net/defaults.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string many_spaces(net_defaults::kInlineBody, ' ');

constexpr std::string_view kEnd = R"("type":"response.incomplete")";

class LargeBodyTest : public ServedPipeline {
 public:
  LargeBodyTest() { server_config.io_threads = 1; }

  /// Has the body workers wait until the returned promise is set.
  std::unique_ptr<std::promise<void>> hold_workers() const {
    auto held = std::make_unique<std::promise<void>>();
    auto until = std::make_shared<std::future<void>>(held->get_future());
    server->service().body_workers().post([until] { until->wait(); });
    return held;
  }
  static std::string large_create(const std::string& fields) {
    return R"({"type":"response.create","input":"a","ignore_eos":true,)" + fields + "}" +
           many_spaces;
  }
};

TEST_F(LargeBodyTest, OtherConnectionsAreServedWhileOneIsDecoded) {
  start();
  const auto held = hold_workers();
  PlainClient large = client();
  large.post(kCompletions, std::string(kThreeTokens) + many_spaces);
  EXPECT_TRUE(
      will_show("weft_body_bytes " + std::to_string(kThreeTokens.size() + many_spaces.size())));
  PlainClient small = client();
  small.post(kCompletions, kThreeTokens);
  EXPECT_THAT(small.read_answer(), StartsWith("HTTP/1.1 200"));
  held->set_value();
  EXPECT_THAT(large.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
  large.post(kCompletions, "{" + many_spaces);
  EXPECT_THAT(large.read_answer(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("invalid_json")));
}

TEST_F(LargeBodyTest, OneWhoseClientHasGoneIsNotDecodedAndItsMemoryIsFree) {
  start();
  const auto held = hold_workers();
  {
    PlainClient large = client();
    large.post(kCompletions, std::string(kThreeTokens) + many_spaces);
    const std::size_t size = kThreeTokens.size() + many_spaces.size();
    EXPECT_TRUE(will_show("weft_body_bytes " + std::to_string(size)));
  }
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
  held->set_value();
  EXPECT_TRUE(eventually([this] { return all_is_free(); }));
}

TEST_F(LargeBodyTest, TheServerEndsWhileOneWaits) {
  start();
  auto held = hold_workers();
  PlainClient large = client();
  large.post(kCompletions, std::string(kThreeTokens) + many_spaces);
  EXPECT_TRUE(
      will_show("weft_body_bytes " + std::to_string(kThreeTokens.size() + many_spaces.size())));
  held->set_value();
  stop();
}

TEST_F(LargeBodyTest, AMessageIsAnsweredAsASmallOneIs) {
  start();
  PlainClient socket = client();
  EXPECT_THAT(socket.ask_to_upgrade(), StartsWith("HTTP/1.1 101"));
  socket.say_frame(Opcode::kText, large_create(R"("max_output_tokens":2,"stream_id":"s")"));
  EXPECT_THAT(socket.read_until(kEnd),
              AllOf(HasSubstr("response.created"), HasSubstr(R"("stream_id":"s")")));
  socket.say_frame(Opcode::kText, large_create(R"("top_p":7)"));
  EXPECT_THAT(socket.read_until(R"("param":"top_p")"), HasSubstr(R"("status":400)"));
  socket.say_frame(Opcode::kText, R"({"type":"response.cancel"})" + many_spaces);
  EXPECT_THAT(socket.read_until("response.create alone"), HasSubstr("error"));
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
}

TEST_F(LargeBodyTest, MessagesBehindOneKeepTheirOrder) {
  start();
  auto held = hold_workers();
  PlainClient socket = client();
  EXPECT_THAT(socket.ask_to_upgrade(), StartsWith("HTTP/1.1 101"));
  socket.say_frame(Opcode::kText,
                   large_create(R"("max_output_tokens":2,"metadata":{"turn":"first"})"));
  socket.say_frame(Opcode::kText, R"({"type":"response.create","input":"b","ignore_eos":true,)"
                                  R"("max_output_tokens":2,"metadata":{"turn":"second"}})");
  PlainClient other = client();
  other.post(kCompletions, kThreeTokens);
  EXPECT_THAT(other.read_answer(), StartsWith("HTTP/1.1 200"));
  held->set_value();
  EXPECT_THAT(socket.read_until(kEnd), AllOf(HasSubstr("first"), Not(HasSubstr("second"))));
  EXPECT_THAT(socket.read_until(kEnd), HasSubstr("second"));
}

TEST_F(LargeBodyTest, AWebSocketThatEndsMeanwhileIsForgotten) {
  start();
  auto held = hold_workers();
  {
    PlainClient socket = client();
    EXPECT_THAT(socket.ask_to_upgrade(), StartsWith("HTTP/1.1 101"));
    socket.say_frame(Opcode::kText, large_create(R"("max_output_tokens":2)"));
    PlainClient other = client();
    other.post(kCompletions, kThreeTokens);
    EXPECT_THAT(other.read_answer(), StartsWith("HTTP/1.1 200"));
  }
  held->set_value();
  EXPECT_TRUE(will_show("weft_body_bytes 0"));
  EXPECT_TRUE(eventually([this] { return all_is_free(); }));
}

TEST_F(LargeBodyTest, PromptsThatAreLargeTogetherArePreparedApart) {
  constexpr int kPrompts = 17;
  start();
  const std::string text(4000, 'a');
  std::string list = "\"" + text + "\"";
  for (int i = 1; i < kPrompts; ++i) list.append(",\"").append(text).append("\"");
  PlainClient one = client();
  one.post(kCompletions, R"({"max_tokens":1,"prompt":[)" + list + "]}");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(will_show(R"(weft_actor_messages_total{actor="large-prompts-0"} 17)"));
  EXPECT_TRUE(will_show(R"(weft_actor_messages_total{actor="preprocess-0"} 0)"));
  one.post(kCompletions, R"({"max_tokens":1,"prompt":[[5],[6]]})");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(will_show(R"(weft_actor_messages_total{actor="preprocess-0"} 2)"));
}

}  // namespace
}  // namespace weft::test
