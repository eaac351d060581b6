// Large requests on their way through the pipeline, beside small ones.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "weft/actors/defaults.h"
#include "weft/tests/actors/pipeline_fixture.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class LargeRequestsTest : public PipelineFixture {
 public:
  /// Sends a request that is prepared as fast as another, but counts as large.
  Sent send_large() {
    Request large = request();
    large.chat_template_kwargs["padding"] = std::string(defaults::kLargePromptBytes, 'a');
    return send(std::move(large));
  }
  /// Delivers the oldest request to the worker for large ones, which must be `sent`.
  testing::AssertionResult prepare(const Sent& sent) {
    return play.expect<PrepareMsg>({}, kLargeWorkerId, [&](const PrepareMsg& message) {
      return message.ticket->id() == sent.active->id();
    });
  }
};

TEST_F(LargeRequestsTest, ASmallOneThatComesLaterIsFinishedFirst) {
  start();
  const Sent large = send_large();
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  ASSERT_TRUE(play.delay({}, kLargeWorkerId, 1s)) << "as if the worker took as long";
  const Sent small = send();
  play.run_all();
  ASSERT_TRUE(small.sink->end);
  EXPECT_EQ(small.sink->tokens.at(0), expected(small));
  EXPECT_FALSE(large.sink->end);
  play.advance(2s);
  play.run_all();
  ASSERT_TRUE(large.sink->end);
  EXPECT_EQ(large.sink->tokens.at(0), expected(large));
}

TEST_F(LargeRequestsTest, TheyAreTakenInTheirOrder) {
  start();
  const Sent first = send_large();
  send();
  const Sent second = send_large();
  const Sent third = send_large();
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  }
  for (const Sent* one : {&first, &second, &third}) {
    EXPECT_TRUE(prepare(*one));
    EXPECT_TRUE(play.expect<EnqueueMsg>(kLargeWorkerId, kSchedulerId));
  }
  play.run_all();
  for (const Sent& one : all) EXPECT_EQ(one.sink->tokens.at(0), expected(one));
}

TEST_F(LargeRequestsTest, OneThatIsCancelledWhileItWaitsIsNotPrepared) {
  start();
  const Sent first = send_large();
  const Sent second = send_large();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  second.active->ask_to_end(EndCause::kCancel);
  ASSERT_TRUE(prepare(first));
  ASSERT_TRUE(prepare(second));
  ASSERT_TRUE(second.sink->end);
  EXPECT_EQ(second.sink->end->reason, FinishReason::kCancelled);
  EXPECT_EQ(play.in_flight(), 1U) << "the first is on its way to the scheduler";
  play.run_all();
  EXPECT_EQ(first.sink->tokens.at(0), expected(first));
}

TEST_F(LargeRequestsTest, TheEndOfTheSystemEndsThoseThatWait) {
  start();
  const Sent first = send_large();
  const Sent second = send_large();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  pipeline.reset();
  EXPECT_EQ(first.error(), EngineErrc::kStopping);
  EXPECT_EQ(second.error(), EngineErrc::kStopping);
}

}  // namespace
}  // namespace weft::test
