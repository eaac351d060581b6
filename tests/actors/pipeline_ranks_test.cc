// A model that is cut into ranks: what the executors say to one another, message by message.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/tests/actors/pipeline_fixture.h"

namespace weft::test {
namespace {

class PipelineRanksTest : public PipelineFixture {
 public:
  using Trouble = FakeRanks::Trouble;

  /// The executor's id of a rank that is not the first.
  static ActorId rank_id(std::size_t rank) { return ActorId(3 + rank); }
  void start_ranks(std::size_t count, std::int32_t stages = 1) {
    ranks = count;
    limits.stages = stages;
    start();
  }
  /// Delivers what was just sent to the scheduler.
  void enqueue_with_ranks() {
    const ActorId worker(kWorkerId.value() + cut->size() - 1);
    const ActorId receiver(kReceiverId.value() + cut->size() - 1);
    ASSERT_TRUE(play.expect<SubmitMsg>({}, receiver));
    ASSERT_TRUE(play.expect<PrepareMsg>({}, worker));
    ASSERT_TRUE(play.expect<EnqueueMsg>(worker, kSchedulerId));
  }
};

TEST_F(PipelineRanksTest, APlanGoesToEveryRankAtOnceAndTheLastGivesTheTickBack) {
  start_ranks(3);
  const Sent one = send();
  enqueue_with_ranks();
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  EXPECT_FALSE(play.expect<StepDoneMsg>(kExecutorId, kSchedulerId)) << "others are to run it yet";
  ASSERT_TRUE(play.expect<StepMsg>(kExecutorId, rank_id(2)));
  EXPECT_FALSE(play.expect<StepDoneMsg>(rank_id(2), kSchedulerId));
  ASSERT_TRUE(play.expect<StepMsg>(kExecutorId, rank_id(1)));
  EXPECT_TRUE(play.expect<StepDoneMsg>(rank_id(1), kSchedulerId));
  play.run_all();
  EXPECT_EQ(one.sink->tokens.at(0), expected(one));
  EXPECT_EQ(cut->half_run(), 0U);
  EXPECT_GT(cut->steps(0), 5U);
}

TEST_F(PipelineRanksTest, ResultsAreTakenInTheOrderOfThePlansInWhichOrderTheyMayCome) {
  start_ranks(3);
  const Sent one = send();
  enqueue_with_ranks();
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  ASSERT_TRUE(play.expect<StepMsg>(kExecutorId, rank_id(1)));
  ASSERT_TRUE(play.expect<StepMsg>(kExecutorId, rank_id(2)));  // the last of the first plan
  ASSERT_TRUE(play.expect<StepMsg>(kExecutorId, rank_id(2)));
  ASSERT_TRUE(play.expect<StepMsg>(kExecutorId, rank_id(1)));  // the last of the second
  ASSERT_TRUE(play.expect<StepDoneMsg>(rank_id(1), kSchedulerId));
  EXPECT_FALSE(play.expect<DeliverMsg>(kSchedulerId, kDetokenizerId));
  ASSERT_TRUE(play.expect<StepDoneMsg>(rank_id(2), kSchedulerId));
  EXPECT_TRUE(play.expect<DeliverMsg>(kSchedulerId, kDetokenizerId));
  EXPECT_TRUE(play.expect<DeliverMsg>(kSchedulerId, kDetokenizerId));
  play.run_all();
  EXPECT_EQ(one.sink->tokens.at(0), expected(one));
  expect_nothing_held();
}

TEST_F(PipelineRanksTest, AsManyPlansAreUnderWayAsThereAreStagesAndOneWaits) {
  start_ranks(1, 2);
  for (int i = 0; i < 4; ++i) send(request(3, 20));
  for (int i = 0; i < 4; ++i) enqueue_with_ranks();
  // The prompts first; then half of the rows in each plan.
  while (cut->steps(1) < 4) ASSERT_TRUE(play.run_one());
  std::size_t most = 0;
  on_step = [&](const Plan& plan) { most = std::max(most, plan.entries.size()); };
  play.run_all();
  EXPECT_EQ(most, 2U);
  for (const Sent& one : all) EXPECT_EQ(one.sink->tokens.at(0), expected(one));
  expect_nothing_held();
}

TEST_F(PipelineRanksTest, WhateverARankThrowsIsTheLossOfAll) {
  for (const Trouble trouble : {Trouble::kThrows, Trouble::kThrowsAfterwards}) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      SCOPED_TRACE(rank);
      start_ranks(3);
      const Sent runs = send();
      for (int i = 0; i < 12; ++i) play.run_one();
      cut->befall(rank, trouble);
      play.run_all();
      EXPECT_EQ(runs.error(), EngineErrc::kDeviceFailed);
      EXPECT_FALSE(pipeline->ready());
      const Sent late = send();
      play.run_all();
      EXPECT_TRUE(late.error() == EngineErrc::kNotReady ||
                  late.error() == EngineErrc::kDeviceFailed);
      expect_nothing_held();
      pipeline.reset();
    }
  }
}

TEST_F(PipelineRanksTest, APlanThatCannotBePassedOnToAllIsLostAndNoneRunsOn) {
  start_ranks(3);
  const Sent one = send();
  enqueue_with_ranks();
  cut->befall(2, Trouble::kThrows);
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  ASSERT_TRUE(play.expect<StepMsg>(kExecutorId, rank_id(2)));  // which is gone now
  EXPECT_FALSE(pipeline->ready());
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  EXPECT_EQ(cut->steps(0), 1U);
  play.run_all();
  EXPECT_EQ(cut->steps(0), 1U);
  EXPECT_LE(cut->steps(1), 1U);
  EXPECT_EQ(one.error(), EngineErrc::kDeviceFailed);
  expect_nothing_held();
}

TEST_F(PipelineRanksTest, ARankThatHangsEndsWithTheOthers) {
  start_ranks(2);
  const Sent one = send();
  enqueue_with_ranks();
  cut->befall(1, Trouble::kHangs);
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  ASSERT_TRUE(cut->hang());
  cut->befall(0, Trouble::kThrows);  // as it has waited too long
  ASSERT_TRUE(play.expect<StepMsg>(kSchedulerId, kExecutorId));
  EXPECT_FALSE(one.sink->end) << "the rank that hangs has the tick";
  ASSERT_TRUE(cut->ready(1)) << "it was abandoned";
  play.run_all();
  EXPECT_EQ(one.error(), EngineErrc::kDeviceFailed);
  expect_nothing_held();
}

TEST_F(PipelineRanksTest, ASchedulerThatFailsLeavesTheRanksToItsSuccessor) {
  start_ranks(2, 2);
  const Sent runs = send(request(5, 30));
  for (int i = 0; i < 25; ++i) play.run_one();
  actor_fails = true;
  while (actor_fails) ASSERT_TRUE(play.run_one());
  play.run_all();
  EXPECT_TRUE(runs.error());
  EXPECT_TRUE(pipeline->ready());
  expect_served();
  expect_nothing_held();
}

}  // namespace
}  // namespace weft::test
