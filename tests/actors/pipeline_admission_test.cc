// Requests that the receiver accepts and refuses.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "weft/tests/actors/pipeline_fixture.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class PipelineAdmissionTest : public PipelineFixture {};

TEST_F(PipelineAdmissionTest, AsManyRequestsAsMayWaitAreTakenAndTheNextIsTold) {
  config.max_queued_requests = 2;
  start();
  send();
  send();
  const Sent third = send();
  EXPECT_FALSE(pipeline->full());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  EXPECT_TRUE(pipeline->full());
  EXPECT_EQ(third.error(), EngineErrc::kOverloaded);
  EXPECT_GT(third.sink->end->retry_after, 0ms);
  EXPECT_EQ(third.sink->end->error.detail, "too many requests wait");
  play.run_all();
  EXPECT_FALSE(pipeline->full());
  expect_served();
}

TEST_F(PipelineAdmissionTest, AsManyPromptTokensAsMayWaitAreTakenButOneRequestAlone) {
  config.max_queued_prompt_tokens = 20;
  start();
  const Sent alone = send(request(30, 2));
  play.run_all();
  EXPECT_EQ(alone.sink->end->reason, FinishReason::kLength);
  send(request(12, 2));
  const Sent second = send(request(12, 2));
  const Sent small = send(request(3, 2));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  EXPECT_EQ(second.error(), EngineErrc::kOverloaded);
  EXPECT_GT(second.sink->end->retry_after, 0ms);
  EXPECT_EQ(second.sink->end->error.detail, "too many prompt tokens wait");
  EXPECT_FALSE(small.sink->end);
  play.run_all();
  EXPECT_EQ(pipeline->stats().queued_prompt_tokens, 0);
}

TEST_F(PipelineAdmissionTest, APromptThatCannotFitIsRefusedBeforeItCounts) {
  config.max_queued_prompt_tokens = 70;
  start();
  const Sent too_long = send(request(65, 2));
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  EXPECT_EQ(too_long.error(), EngineErrc::kContextLengthExceeded);
  EXPECT_EQ(pipeline->stats().queued_prompt_tokens, 0);
  const Sent other = send(request(12, 2));
  play.run_all();
  EXPECT_EQ(other.sink->end->reason, FinishReason::kLength);
}

TEST_F(PipelineAdmissionTest, APromptCountsNoMoreThanTheContextWhileItWaits) {
  config.max_queued_prompt_tokens = 80;
  start();
  Request conversation;  // of 1000 tokens by estimate, which only its template can tell
  conversation.messages = {{{"role", "user"}, {"content", std::string(4000, 'x')}}};
  send(std::move(conversation));
  const Sent other = send(request(12, 2));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  EXPECT_EQ(pipeline->stats().queued_prompt_tokens, 64 + 13);
  play.run_all();
  EXPECT_EQ(other.sink->end->reason, FinishReason::kLength);
  EXPECT_EQ(pipeline->stats().queued_prompt_tokens, 0);
}

TEST_F(PipelineAdmissionTest, AnInputOfTooManyBytesIsRefusedWithTheNumbers) {
  config.max_prompt_bytes = 100;
  start();
  Request text;
  text.prompt.assign(101, 'x');
  EXPECT_EQ(send(std::move(text)).sink->end.has_value(), false);
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  EXPECT_EQ(all.back().error(), EngineErrc::kBadRequest);
  EXPECT_EQ(all.back().sink->end->error.detail, "prompt: 101 bytes, at most 100");
  Request conversation;
  conversation.messages = {{{"role", "user"}, {"content", std::string(95, 'x')}}};
  send(std::move(conversation));
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  EXPECT_EQ(all.back().error(), EngineErrc::kBadRequest);
  Request numbers;
  numbers.prompt = "x";
  numbers.tools = boost::json::array(101, 0);
  send(std::move(numbers));
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  EXPECT_EQ(all.back().error(), EngineErrc::kBadRequest);
}

TEST_F(PipelineAdmissionTest, ARequestThatAFullMailboxRefusesIsToldWhenToTryAgain) {
  config.max_queued_requests = 1;
  start();
  while (!all.empty() ? !all.back().sink->end : true) {
    ASSERT_LT(all.size(), 2000U);
    send();
  }
  EXPECT_EQ(all.back().error(), EngineErrc::kOverloaded);
  EXPECT_GT(all.back().sink->end->retry_after, 0ms);
  play.run_all();
}

}  // namespace
}  // namespace weft::test
