// The actors' messages, one message at a time.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/defaults.h"
#include "weft/core/actor/supervision.h"
#include "weft/gpu/forwarding_device.h"
#include "weft/sampling/logit_processor.h"
#include "weft/tests/actors/pipeline_fixture.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class PipelineTest : public PipelineFixture {};

TEST_F(PipelineTest, ARequestGoesFromActorToActor) {
  start();
  const Sent one = send(request(5, 1));
  enqueue();
  EXPECT_EQ(one.sink->admitted, 1);
  EXPECT_EQ(one.sink->prompt_tokens, 5);
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  ASSERT_TRUE(play.expect<StepDoneMsg>(kExecutorId, kSchedulerId));
  ASSERT_TRUE(play.expect<DeliverMsg>(kSchedulerId, kDetokenizerId));
  EXPECT_EQ(one.sink->tokens.at(0), expected(one));
  EXPECT_FALSE(one.sink->end);
  ASSERT_TRUE(play.expect<EndMsg>(kSchedulerId, kDetokenizerId));
  ASSERT_TRUE(one.sink->end);
  EXPECT_EQ(one.sink->end->reason, FinishReason::kLength);
  EXPECT_EQ(one.sink->end->usage.prompt_tokens, 5);
  EXPECT_EQ(one.sink->end->usage.output_tokens, 1);
  EXPECT_EQ(play.in_flight(), 0U) << "the detokenizer frees the tick itself";
  expect_nothing_held();
}

TEST_F(PipelineTest, ARequestIsToldHowMuchOfItsPromptWasThere) {
  start();
  const Sent first = send(request(21, 1));
  play.run_all();
  EXPECT_EQ(first.sink->end->usage.cached_tokens, 0);
  const Sent second = send(request(21, 1));
  play.run_all();
  EXPECT_EQ(second.sink->tokens.at(0), expected(second));
  EXPECT_EQ(second.sink->end->usage.prompt_tokens, 21);
  EXPECT_EQ(second.sink->end->usage.cached_tokens, 20);
  Request salted = request(21, 1);
  salted.cache_salt = "s";
  const Sent third = send(std::move(salted));
  play.run_all();
  EXPECT_EQ(third.sink->end->usage.cached_tokens, 0);
  const EngineStats stats = pipeline->stats();
  EXPECT_EQ(stats.prefix_lookups, 3U);
  EXPECT_EQ(stats.prefix_hits, 1U);
  EXPECT_EQ(stats.prefix_tokens, 20U);
  EXPECT_EQ(stats.prefix_pages, 10);
  EXPECT_EQ(stats.pages_free, stats.pages);
}

TEST_F(PipelineTest, RowsTellWhoHoldsThem) {
  limits.step_tokens = 16;
  start();
  EXPECT_EQ(pipeline->rows(), std::vector<RowHolder>(4));
  const Sent first = send(request(5, 6));
  enqueue();
  const Sent second = send(request(40, 6));
  enqueue();
  const std::vector<RowHolder> rows = pipeline->rows();
  EXPECT_EQ(rows.at(0), (RowHolder{first.active->id(), true}));
  EXPECT_EQ(rows.at(1), (RowHolder{second.active->id(), false}));
  EXPECT_EQ(rows.at(2), RowHolder{});
  first.active->ask_to_end(EndCause::kCancel);
  second.active->ask_to_end(EndCause::kCancel);
  play.run_all();
  EXPECT_EQ(pipeline->rows(), std::vector<RowHolder>(4));
}

TEST_F(PipelineTest, RowsAreFreeAfterTheSchedulerHasFailed) {
  start();
  send();
  enqueue();
  EXPECT_TRUE(pipeline->rows().at(0).request);
  send();
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorkerId));
  actor_fails = true;
  ASSERT_TRUE(play.expect<EnqueueMsg>(kWorkerId, kSchedulerId));
  EXPECT_EQ(pipeline->rows(), std::vector<RowHolder>(4));
  play.run_all();
  expect_served();
}

TEST_F(PipelineTest, TheMedianOfTheLastFirstTokensIsKnown) {
  start();
  EXPECT_EQ(pipeline->stats().first_token_median, 0);
  send(request(5, 1));
  enqueue();
  play.advance(2ms);
  play.run_all();
  EXPECT_GT(pipeline->stats().first_token_median, 0);
}

TEST_F(PipelineTest, OnePlanWaitsWhileOneRuns) {
  start();
  send();
  enqueue();
  EXPECT_EQ(play.in_flight(), 2U);
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId, [](const StepMsg& step) {
    return step.tick->plan.entries.at(0).first_id == kLastToken;
  }));
  play.run_all();
}

TEST_F(PipelineTest, APlanThatWaitsIsChangedForAnArrivalUnderItsOneMessage) {
  start();
  const Sent first = send();
  enqueue();
  const Sent second = send(request(9, 6));
  enqueue();
  const auto plan_of = [](std::uint64_t number, std::size_t entries) {
    return [=](const StepMsg& step) {
      return step.number == number && step.tick->plan.entries.size() == entries;
    };
  };
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId, plan_of(1, 1)));
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId, plan_of(2, 2)));
  EXPECT_EQ(device->steps(), 2U);
  EXPECT_FALSE(play.expect<StepMsg>(kSchedulerId, kExecutorId)) << "two are under way";
  play.run_all();
  EXPECT_EQ(first.sink->tokens.at(0), expected(first));
  EXPECT_EQ(second.sink->tokens.at(0), expected(second));
  expect_nothing_held();
}

TEST_F(PipelineTest, APlanThatRunsIsNotTakenBack) {
  start();
  send();
  enqueue();
  std::uint64_t entries = 0;
  on_step = [&](const Plan& plan) { entries += plan.entries.size(); };
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  send();
  enqueue();
  EXPECT_EQ(entries, 2U);
  EXPECT_FALSE(play.expect<StepMsg>(kSchedulerId, kExecutorId)) << "two are under way";
  play.run_all();
  expect_nothing_held();
}

class NoProcessor final : public LogitProcessor {
 public:
  void process(const LogitContext& /*context*/, std::span<float> /*logits*/) override {}
};

TEST_F(PipelineTest, ThatLogitProcessorsRunWithoutGuessesIsSaidOnce) {
  std::vector<std::string> said;
  notice = [&](const std::string& what) { said.push_back(what); };
  limits.guesses = 2;
  config.speculation = SpeculationKind::kSuffix;
  start();
  send();
  Request processed = request(5, 6);
  processed.sampling.logit_processor = std::make_shared<NoProcessor>();
  for (int i = 0; i < 2; ++i) send(processed);
  play.run_all();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said.front().find("with a logit processor runs without guesses"), std::string::npos);
  expect_nothing_held();
}

/// A device that keeps whom it would tell that it is lost.
class WatchedDevice final : public ForwardingDevice {
 public:
  using Tell = std::function<void(const std::string&)>;

  WatchedDevice(std::shared_ptr<StepDevice> device, std::shared_ptr<Tell> tell)
      : ForwardingDevice(std::move(device)), tell_(std::move(tell)) {}
  void watch(Tell tell) override { *tell_ = std::move(tell); }

 private:
  const std::shared_ptr<Tell> tell_;
};

TEST_F(PipelineTest, APlanThatWaitsIsNotChangedWhenOneBehindItWasRefused) {
  const auto tell = std::make_shared<WatchedDevice::Tell>();
  before_device = [tell](std::shared_ptr<StepDevice> device) {
    return std::make_shared<WatchedDevice>(std::move(device), tell);
  };
  start();
  const Sent first = send(request(5, 1));
  enqueue();
  EXPECT_EQ(play.in_flight(), 1U) << "a plan, and nothing to compute behind it";
  // The executor takes no more messages.
  for (std::size_t i = 0; i < 2 * defaults::kExecutorMessages; ++i) (*tell)("full");
  const std::size_t full = play.in_flight();
  const Sent second = send(request(5, 6));
  enqueue();
  EXPECT_EQ(play.in_flight(), full + 2) << "the next plan is refused, and both requests end";
  const Sent third = send(request(5, 6));
  enqueue();
  play.run_all();
  for (const Sent& one : {first, second, third}) EXPECT_TRUE(one.sink->end);
  EXPECT_EQ(third.error(), EngineErrc::kOverloaded);
}

TEST_F(PipelineTest, ACancelReachesThePlanThatWaits) {
  start();
  const Sent one = send();
  enqueue();
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  ASSERT_TRUE(one.active->ask_to_end(EndCause::kCancel));
  ASSERT_TRUE(play.expect<EndingMsg>({}, kSchedulerId));
  EXPECT_EQ(pipeline->stats().running, 0U);
  EXPECT_EQ(pipeline->stats().pages_free, limits.pages);
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId, [](const StepMsg& step) {
    return step.tick->plan.entries.empty();
  }));
  play.run_all();
  EXPECT_EQ(one.sink->end->reason, FinishReason::kCancelled);
  expect_nothing_held();
}

TEST_F(PipelineTest, ARequestEndsWhereverItIsWhenItIsCancelled) {
  start();
  for (std::size_t messages = 0; messages < 20; ++messages) {
    const Sent one = send();
    for (std::size_t i = 0; i < messages && play.run_one(); ++i) {
    }
    const bool asked = one.active->ask_to_end(EndCause::kCancel);
    play.run_all();
    ASSERT_TRUE(one.sink->end) << messages;
    // A cancel that comes when all tokens are there changes nothing.
    const auto whole = static_cast<std::size_t>(one.active->request().max_tokens);
    EXPECT_TRUE(!asked || one.sink->end->reason == FinishReason::kCancelled ||
                one.sink->tokens.at(0).size() == whole)
        << messages;
    expect_nothing_held();
  }
}

TEST_F(PipelineTest, AStopKeepsWhatThereIs) {
  start();
  const Sent one = send(request(5, 30));
  for (int i = 0; i < 20; ++i) play.run_one();
  one.active->ask_to_end(EndCause::kStop);
  play.run_all();
  EXPECT_EQ(one.sink->end->reason, FinishReason::kStop);
  EXPECT_FALSE(one.sink->end->error.code);
  EXPECT_GT(one.sink->tokens.at(0).size(), 0U);
  EXPECT_LT(one.sink->tokens.at(0).size(), 30U);
}

TEST_F(PipelineTest, EachCauseOfAnEndHasItsError) {
  start();
  const auto error_of = [&](EndCause cause, int messages) {
    const Sent one = send();
    for (int i = 0; i < messages; ++i) play.run_one();
    one.active->ask_to_end(cause);
    play.run_all();
    return one.error();
  };
  for (const int messages : {0, 1, 2, 3, 5}) {  // up to the device
    EXPECT_EQ(error_of(EndCause::kCancel, messages), EngineErrc::kCancelled) << messages;
    EXPECT_EQ(error_of(EndCause::kSlowReader, messages), EngineErrc::kSlowReader) << messages;
    EXPECT_EQ(error_of(EndCause::kShutdown, messages), EngineErrc::kStopping) << messages;
    EXPECT_EQ(error_of(EndCause::kFailure, messages), EngineErrc::kInternal) << messages;
  }
}

TEST_F(PipelineTest, ADeadlineEndsWhatRunsAndWhatWaits) {
  limits.rows = 1;
  start();
  Request late = request(5, 30);
  late.timeout = 20ms;
  const Sent runs = send(late);
  const Sent waits = send(late);
  for (int i = 0; i < 12; ++i) play.run_one();
  play.advance(19ms);
  EXPECT_FALSE(runs.sink->end);
  EXPECT_EQ(pipeline->stats().waiting, 1U);
  play.advance(2ms);
  play.run_all();
  EXPECT_EQ(runs.error(), EngineErrc::kDeadlineExceeded);
  EXPECT_EQ(waits.error(), EngineErrc::kDeadlineExceeded);
  expect_nothing_held();
}

TEST_F(PipelineTest, ATimeoutBeyondTheClockIsNone) {
  start();
  Request patient = request();
  patient.timeout = std::chrono::milliseconds::max();
  const Sent one = send(patient);
  play.run_all();
  EXPECT_EQ(one.sink->end->reason, FinishReason::kLength) << to_string(one.sink->end->error);
}

TEST_F(PipelineTest, AWindowOpensBatchesByItsTimer) {
  config.policy = BatchPolicy::kWindow;
  config.window = 5ms;
  start();
  const Sent one = send();
  play.run_all();
  EXPECT_FALSE(one.sink->end);
  play.advance(6ms);
  play.run_all();
  EXPECT_TRUE(one.sink->end);
}

TEST_F(PipelineTest, WhatCanNeverFitIsToldTheNumbers) {
  limits.pages = 4;
  start();
  const Sent one = send(request(10, 20));
  play.run_all();
  EXPECT_EQ(one.error(), EngineErrc::kNeverFits);
  EXPECT_EQ(one.sink->end->error.detail, "1 sequences of 30 tokens take 8 pages, the engine has 4");
  EXPECT_EQ(one.sink->admitted, 0);
}

TEST_F(PipelineTest, AStepThatIsLostFailsWhatRanAndTheNextOneIsServed) {
  limits.rows = 1;
  start();
  const Sent runs = send();
  const Sent waits = send();
  for (int i = 0; i < 6; ++i) play.run_one();
  on_step = [this](const Plan&) {
    on_step = nullptr;
    throw std::runtime_error("the device fails");
  };
  play.run_all();
  EXPECT_EQ(runs.error(), EngineErrc::kDeviceFailed);
  EXPECT_EQ(waits.sink->end->reason, FinishReason::kLength);
  EXPECT_TRUE(pipeline->ready());
  expect_served();
  expect_nothing_held();
}

TEST_F(PipelineTest, APlanMadeBeforeAStepWasLostDoesNotRun) {
  start();
  const Sent one = send();
  enqueue();
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  on_step = [](const Plan&) { throw std::runtime_error("the device fails"); };
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  // The scheduler hears of the first step, and plans a third that goes on from the second.
  ASSERT_TRUE(play.expect<StepDoneMsg>(kExecutorId, kSchedulerId));
  bool ran = false;
  on_step = [&](const Plan&) { ran = true; };
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  EXPECT_FALSE(ran);
  play.run_all();
  EXPECT_EQ(one.error(), EngineErrc::kDeviceFailed);
  expect_served();
  expect_nothing_held();
}

TEST_F(PipelineTest, ADeviceThatIsGoneTakesTheEngineOutOfService) {
  start();
  const Sent runs = send();
  on_step = [](const Plan&) -> void { throw ActorFailure(ExitKind::kDeviceLost, "gone"); };
  play.run_all();
  EXPECT_TRUE(runs.error());
  EXPECT_FALSE(pipeline->ready());
  const Sent late = send();
  play.run_all();
  EXPECT_EQ(late.error(), EngineErrc::kNotReady);
}

TEST_F(PipelineTest, ASchedulerThatFailsFailsItsRequestsAndTheNextOneIsServed) {
  start();
  const Sent runs = send(request(5, 30));
  for (int i = 0; i < 15; ++i) play.run_one();
  const Sent comes = send();
  play.run_one();
  play.run_one();
  actor_fails = true;
  while (actor_fails) ASSERT_TRUE(play.run_one());
  play.run_all();
  EXPECT_TRUE(runs.error());
  EXPECT_TRUE(comes.sink->end);
  expect_served();
  expect_nothing_held();
}

TEST_F(PipelineTest, ASchedulerThatIsGoneIsNoReasonToTryAgain) {
  start();
  failure = ExitKind::kInternalError;
  const Sent first = send();
  actor_fails = true;
  play.run_all();
  EXPECT_TRUE(first.error());
  EXPECT_FALSE(pipeline->ready());
  const Sent late = send();
  play.run_all();
  EXPECT_EQ(late.error(), EngineErrc::kNotReady);
  EXPECT_EQ(late.sink->end->retry_after, 0ms);
}

TEST_F(PipelineTest, WhyARequestEndedIsToldWithoutADetokenizerToo) {
  start();
  send(request(5, 1));
  while (!play.expect<StepDoneMsg>(kExecutorId, kSchedulerId)) ASSERT_TRUE(play.run_one());
  failure = ExitKind::kDeviceLost;
  actor_fails = true;
  ASSERT_TRUE(play.expect<DeliverMsg>(kSchedulerId, kDetokenizerId));
  ASSERT_FALSE(pipeline->ready());
  const Sent cancelled = send();
  enqueue();
  cancelled.active->ask_to_end(EndCause::kCancel);
  const Sent done = send();
  play.run_all();
  EXPECT_EQ(cancelled.error(), EngineErrc::kCancelled);
  EXPECT_EQ(done.error(), EngineErrc::kNotReady);
}

// Ticks that wait for the executor are of no use to a new scheduler before they come back.
TEST_F(PipelineTest, ASchedulerWithoutATickPlansWhenThoseOfItsPredecessorsComeBack) {
  start();
  for (std::size_t failed = 0; failed < TickPool::kTicks / 2; ++failed) {
    send();
    enqueue();
    send();
    ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
    ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorkerId));
    actor_fails = true;
    ASSERT_TRUE(play.expect<EnqueueMsg>(kWorkerId, kSchedulerId));
    ASSERT_TRUE(play.expect<EndMsg>(kSchedulerId, kDetokenizerId));
  }
  ASSERT_TRUE(pipeline->ready());
  EXPECT_EQ(play.in_flight(), TickPool::kTicks) << "all of them are under way";
  const Sent last = send();
  enqueue();
  play.run_all();
  ASSERT_TRUE(last.sink->end);
  EXPECT_EQ(last.sink->tokens.at(0), expected(last));
}

TEST_F(PipelineTest, AFailureBeforeAnyMessageLeavesNoRequestWithoutItsEnd) {
  start();
  for (std::size_t at = 0; at < 40; ++at) {
    const Sent first = send();
    const Sent second = send(request(9, 4));
    for (std::size_t i = 0; i < at && play.run_one(); ++i) {
    }
    actor_fails = play.in_flight() > 0;
    play.run_all();
    actor_fails = false;
    ASSERT_TRUE(first.sink->end && second.sink->end) << at;
    expect_nothing_held();
    play.advance(11s);  // a failed actor is restarted only so often in so long a time
  }
  expect_served();
}

TEST_F(PipelineTest, AMessageThatIsLostEndsItsRequest) {
  start();
  const Sent first = send();
  ASSERT_TRUE(play.drop({}, kReceiverId));
  EXPECT_EQ(first.error(), EngineErrc::kInternal);
  const Sent second = send();
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiverId));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorkerId));
  ASSERT_TRUE(play.drop(kWorkerId, kSchedulerId));
  EXPECT_EQ(second.error(), EngineErrc::kInternal);
  expect_nothing_held();
}

TEST_F(PipelineTest, TheEndOfTheSystemEndsEveryRequestOnce) {
  for (std::size_t messages = 0; messages < 20; ++messages) {
    start();
    const Sent one = send();
    for (std::size_t i = 0; i < messages && play.run_one(); ++i) {
    }
    pipeline.reset();
    ASSERT_TRUE(one.sink->end) << messages;
    EXPECT_TRUE(one.sink->end->reason == FinishReason::kLength ||
                one.error() == EngineErrc::kStopping)
        << messages << " " << to_string(one.sink->end->error);
    while (play.run_one()) {
    }
  }
}

/// An application's own actor, which fails at every request.
class FailingFilter {
 public:
  using Accepts = PreprocessProtocol;
  explicit FailingFilter(ActorContext& /*context*/) {}
  void on(PrepareMsg&& /*message*/) { throw std::runtime_error("the filter fails"); }
  void undelivered(PrepareMsg&& message, const Error& why) { std::move(message.ticket).fail(why); }
};

TEST_F(PipelineTest, AnApplicationsActorThatFailsEndsTheRequestInItsHands) {
  before_preprocess = [](ActorSystem& system, const PreprocessPool& /*next*/) {
    return system.spawn<FailingFilter>({.name = "filter", .messages_per_activation = 1});
  };
  start();
  const Sent one = send();
  play.run_all();
  EXPECT_EQ(one.error(), EngineErrc::kInternal);
  EXPECT_EQ(pipeline->stats().requests, 0U);
}

TEST_F(PipelineTest, AsManyThrowsOfAFilterAsClientsLikeEndTheirRequestsAndNotTheEngine) {
  before_preprocess = [](ActorSystem& system, const PreprocessPool& /*next*/) {
    return system.spawn<FailingFilter>({.name = "filter", .messages_per_activation = 1});
  };
  start();
  for (std::size_t i = 0; i < 3 * defaults::kMaxRestarts; ++i) {
    const Sent one = send();
    play.run_all();
    EXPECT_EQ(one.error(), EngineErrc::kInternal);
  }
  EXPECT_TRUE(pipeline->ready());
}

/// An application's own actor, which lets requests fall.
class DroppingFilter {
 public:
  using Accepts = PreprocessProtocol;
  explicit DroppingFilter(ActorContext& /*context*/) {}
  void on(PrepareMsg&& /*message*/) {}
  void undelivered(PrepareMsg&& message, const Error& why) { std::move(message.ticket).fail(why); }
};

TEST_F(PipelineTest, ARequestThatAFilterDropsEndsAtOnce) {
  before_preprocess = [](ActorSystem& system, const PreprocessPool& /*next*/) {
    return system.spawn<DroppingFilter>({.name = "filter"});
  };
  start();
  const Sent one = send();
  play.run_all();
  EXPECT_EQ(one.error(), EngineErrc::kInternal);
  EXPECT_EQ(pipeline->stats().requests, 0U);
}

/// A structured output whose next mask is more work than is allowed.
class TooLargeGrammar final : public TokenConstraint {
 public:
  [[nodiscard]] std::unique_ptr<ConstraintState> begin() const override { return nullptr; }
  void end() const noexcept override { ++ends; }
  [[nodiscard]] bool gave_up() const noexcept override { return gives_up; }

  bool gives_up = true;
  mutable int ends = 0;
};

TEST_F(PipelineTest, ARequestWhoseGrammarIsTooLargeEndsWithThatReason) {
  start();
  device->give_no_numbers();
  const auto grammar = std::make_shared<TooLargeGrammar>();
  for (const EngineErrc reason : {EngineErrc::kGrammarTooLarge, EngineErrc::kNoTokenLeft}) {
    Request one = request();
    one.sampling.constraint = grammar;
    const Sent sent = send(std::move(one));
    play.run_all();
    EXPECT_EQ(sent.error(), reason);
    grammar->gives_up = false;
  }
  EXPECT_EQ(grammar->ends, 2) << "it is told when each of its requests has ended";
  expect_nothing_held();
}

TEST_F(PipelineTest, ARequestWhoseMasksLeaveNothingOfTheLogitsEndsWithAReasonOfItsOwn) {
  start();
  device->give_no_numbers();
  Request masked = request();
  masked.sampling.allowed_tokens = {1, 2};
  const Sent one = send(std::move(masked));
  play.run_all();
  EXPECT_EQ(one.error(), EngineErrc::kNoTokenLeft);
  const Sent other = send();
  play.run_all();
  EXPECT_EQ(other.error(), EngineErrc::kNotNumbers);
  expect_nothing_held();
}

}  // namespace
}  // namespace weft::test
