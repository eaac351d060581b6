#include "weft/net/server/stream_ping.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <string_view>

#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Time = std::chrono::steady_clock::time_point;

TEST(StreamPingTest, IsDueWhenNothingWasSentForTheInterval) {
  const Time since{milliseconds(1000)};
  EXPECT_FALSE(ping_is_due(milliseconds(100), since, since + milliseconds(99), false));
  EXPECT_TRUE(ping_is_due(milliseconds(100), since, since + milliseconds(100), false));
  EXPECT_FALSE(ping_is_due(milliseconds(100), since, since + milliseconds(500), true))
      << "a client that does not read would have many";
  EXPECT_FALSE(ping_is_due(milliseconds(0), since, since + milliseconds(1000000), false));
}

constexpr std::string_view kPing = ": ping\n\n";

/// A server of one row, in which a request stands before the closed gate: others wait.
class WaitingStreamTest : public ServedPipeline {
 protected:
  void start_full(milliseconds interval = milliseconds(100)) {
    limits.rows = 1;
    server_config.stream_ping_interval = interval;
    start();
    gate.close();
    first_.emplace(server->port());
    first_->post("/v1/completions", R"({"prompt":[5],"max_tokens":4,"ignore_eos":true})");
    gate.wait_for_step();
  }

 private:
  std::optional<PlainClient> first_;
};

TEST_F(WaitingStreamTest, IsPingedFromTheArrivalOfItsRequestOn) {
  start_full();
  PlainClient one = client();
  one.post("/v1/completions",
           R"({"prompt":[6],"max_tokens":2,"ignore_eos":true,"stream":true,"logprobs":0})");
  const std::string head = one.read_until(kPing);
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream"));
  one.read_until(kPing);
  gate.open();
  const std::string rest = one.read_until("data: [DONE]");
  EXPECT_THAT(rest, HasSubstr("\"finish_reason\":\"length\""));
}

TEST_F(WaitingStreamTest, ThatFailsAfterAPingSaysSoByAnEvent) {
  start_full();
  PlainClient one = client();
  one.post("/v1/chat/completions",
           R"({"messages":[{"role":"user","content":"a"}],"max_tokens":2,"stream":true})",
           "X-Request-Timeout-Ms: 4000\r\n");
  EXPECT_THAT(one.read_until(kPing), StartsWith("HTTP/1.1 200 "));
  const std::string rest = one.read_until("\r\n0\r\n\r\n");
  EXPECT_THAT(rest, HasSubstr("data: {\"error\":"));
  EXPECT_THAT(rest, Not(HasSubstr("HTTP/1.1")));
  EXPECT_TRUE(eventually([&] { return was_logged("deadline"); }));
}

TEST_F(WaitingStreamTest, ThatFailsBeforeAPingHasTheErrorsOwnStatus) {
  start_full(std::chrono::hours(1));
  PlainClient one = client();
  one.post("/v1/completions", R"({"prompt":[123456789],"max_tokens":2,"stream":true})");
  EXPECT_THAT(one.read_answer(), StartsWith("HTTP/1.1 400 ")) << "it is not in the vocabulary";
}

TEST_F(WaitingStreamTest, OfOllamaGetsAnObjectWithoutText) {
  start_full();
  PlainClient one = client();
  one.post("/api/generate", R"({"model":"tiny","prompt":"a","raw":true})");
  const std::string ping = one.read_until("\"response\":\"\",\"done\":false}\n");
  EXPECT_THAT(ping, HasSubstr("Content-Type: application/x-ndjson"));
  gate.open();
  one.read_until("\"done\":true");
}

TEST_F(WaitingStreamTest, OfAWebSocketIsPingedByItsFrames) {
  start_full();
  PlainClient one = client();
  EXPECT_THAT(one.ask_to_upgrade(), StartsWith("HTTP/1.1 101"));
  one.say_frame(Opcode::kText,
                R"({"type":"response.create","input":"a","store":false,"max_output_tokens":2,)"
                R"("ignore_eos":true})");
  const std::string ping{'\x89', '\0'};
  EXPECT_THAT(one.read_until(ping), testing::EndsWith(ping));
  EXPECT_THAT(one.read_until(ping), testing::EndsWith(ping));
  gate.open();
  EXPECT_THAT(one.read_until("response.incomplete"), HasSubstr("response.output_text.delta"));
}

TEST_F(WaitingStreamTest, AnAnswerThatIsNotStreamedHasNoPing) {
  start_full();
  PlainClient one = client();
  one.post("/v1/completions", R"({"prompt":[6],"max_tokens":2,"ignore_eos":true})");
  PlainClient pinged = client();
  pinged.post("/v1/completions", R"({"prompt":[6],"max_tokens":2,"stream":true})");
  for (int i = 0; i < 2; ++i) pinged.read_until(kPing);
  gate.open();
  EXPECT_THAT(one.read_answer(),
              testing::AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("ping"))));
}

}  // namespace
}  // namespace weft::test
