// Tests of encoders' outputs that are computed once: which group finds which output, and when.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {
namespace {

class SchedulerEncoderTest : public SchedulerFixture {
 protected:
  void start(SchedulerOptions options = roomy(), std::int32_t pages = 32) {
    options.limits.cross_pages = pages;
    SchedulerFixture::start(options, [this](const Plan& plan) {
      encodes_ += plan.encodes.size();
      return Duration{};
    });
  }
  /// Returns how many inputs are read while groups run that are submitted one after the other.
  std::size_t encodes_of(std::initializer_list<Ask> asks) {
    const std::size_t before = encodes_;
    for (const Ask& ask : asks) {
      submit(ask);
      finish_all();
    }
    return encodes_ - before;
  }
  [[nodiscard]] PrefixStats found() const { return scheduler_->stats().prefixes; }

  std::size_t encodes_ = 0;
};

const Ask usual{.prompt = 2, .encoder_input = 22, .max_tokens = 6, .text = 5};

TEST_F(SchedulerEncoderTest, AnInputThatWasReadIsNotReadAgain) {
  start();
  EXPECT_EQ(encodes_of({usual}), 1U);
  EXPECT_EQ(outcomes_.back().cached, 0);
  EXPECT_EQ(encodes_of({usual}), 0U);
  EXPECT_EQ(outcomes_.back().cached, 22) << "of the encoder's input";
  EXPECT_EQ(outcomes_[0].outputs, outcomes_[1].outputs);
  EXPECT_EQ(found().lookups, 2U);
  EXPECT_EQ(found().hits, 1U);
  EXPECT_EQ(found().found, 22U);
  EXPECT_EQ(found().encoder_pages, 6);
}

TEST_F(SchedulerEncoderTest, AnotherInputOrScopeIsRead) {
  start();
  encodes_of({usual});
  Ask longer = usual;
  longer.encoder_input = 23;
  Ask others = usual;
  others.domain = "somebody else's";
  Ask long_context = usual;
  long_context.long_context = true;
  EXPECT_EQ(encodes_of({longer, others, long_context}), 3U);
  EXPECT_EQ(encodes_of({longer, others, long_context, usual}), 0U);
}

TEST_F(SchedulerEncoderTest, NothingIsKeptWithoutACache) {
  SchedulerOptions options = roomy();
  options.cache = false;
  start(options);
  EXPECT_EQ(encodes_of({usual, usual}), 2U);
}

TEST_F(SchedulerEncoderTest, OutputsAreFoundWhereRowsHaveSlabs) {
  SchedulerOptions options = roomy();
  options.layout = KvLayout::kSlab;
  start(options);
  EXPECT_EQ(encodes_of({usual, usual}), 1U);
}

TEST_F(SchedulerEncoderTest, ARunningGroupsOutputIsSharedAndTakesNoRoom) {
  start(roomy(), 6);
  Ask ask = usual;
  ask.max_tokens = 30;
  submit(ask);
  ASSERT_TRUE(tick());
  const GroupOutcome& second = submit(ask);
  ASSERT_TRUE(tick());
  EXPECT_TRUE(runs(second));
  EXPECT_EQ(encodes_, 1U);
  finish_all();
  EXPECT_EQ(encodes_, 1U);
  EXPECT_EQ(second.outputs[0], alone(second));
}

TEST_F(SchedulerEncoderTest, OfEqualInputsThatComeTogetherOneIsReadAndTheOthersWait) {
  SchedulerOptions options = roomy();
  options.limits.step_tokens = 256;
  start(options, 256);
  Ask ask = usual;
  ask.encoder_input = 200;
  for (int i = 0; i < 4; ++i) submit(ask);
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().starts.size(), 1U);
  submit(ask);
  amend();
  EXPECT_EQ(newest().starts.size(), 1U) << "the plan may lose what it computes";
  ASSERT_TRUE(plan());
  EXPECT_EQ(newest().starts.size(), 4U);
  EXPECT_TRUE(newest().encodes.empty());
  finish_all();
  EXPECT_EQ(encodes_, 1U);
}

TEST_F(SchedulerEncoderTest, AnInputWhosePlanLosesItIsReadForTheNext) {
  start();
  GroupOutcome& first = submit(usual);
  ASSERT_TRUE(plan());
  end(first);
  const GroupOutcome& second = submit(usual);
  amend();
  EXPECT_EQ(newest().encodes.size(), 1U);
  finish_all();
  EXPECT_EQ(encodes_, 1U);
  EXPECT_EQ(second.outputs[0], alone(second));
}

TEST_F(SchedulerEncoderTest, WhoGaveWayFindsItsOutputAgain) {
  SchedulerOptions options = roomy();
  options.limits.pages = 16;
  options.limits.context = 64;
  start(options);
  Ask batch = usual;
  batch.max_tokens = 40;
  batch.cls = RequestClass::kBatch;
  const GroupOutcome& gives_way = submit(batch);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(tick());
  submit({.prompt = 40, .max_tokens = 20});
  finish_all();
  EXPECT_EQ(encodes_, 1U);
  EXPECT_EQ(gives_way.begun, 2);
  EXPECT_EQ(gives_way.outputs[0], alone(gives_way));
}

TEST_F(SchedulerEncoderTest, IdleOutputsAreGivenUpBeforeAnybodyWaits) {
  start(roomy(), 12);
  Ask other = usual;
  other.text = 6;
  encodes_of({usual, other});
  Ask large{.prompt = 2, .encoder_input = 28, .max_tokens = 2, .text = 7};  // 7 pages
  EXPECT_EQ(encodes_of({large}), 1U);
  EXPECT_EQ(found().given_up, 12U);
  EXPECT_EQ(scheduler_->stats().preemptions, 0U);
  EXPECT_EQ(encodes_of({large}), 0U);
  EXPECT_EQ(encodes_of({usual}), 1U);
}

TEST_F(SchedulerEncoderTest, ALostStepForgetsWhatItAndThoseBeforeItRead) {
  start();
  encodes_of({usual});
  submit({.prompt = 4});
  ASSERT_TRUE(plan());
  lose();
  EXPECT_EQ(found().encoder_pages, 0);
  EXPECT_EQ(encodes_of({usual}), 1U);
}

}  // namespace
}  // namespace weft::test
