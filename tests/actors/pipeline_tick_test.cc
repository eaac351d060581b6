#include "weft/actors/pipeline_tick.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Holder = PipelineTick::Holder;

class PipelineTickTest : public testing::Test {
 public:
  void SetUp() override {
    tick.number = 7;
    tick.set_holder(Holder::kQueued);
  }

  PipelineTick tick;
};

TEST_F(PipelineTickTest, GoesToTheExecutorOnce) {
  EXPECT_TRUE(tick.take(7));
  EXPECT_FALSE(tick.take(7));
  EXPECT_FALSE(tick.take_back()) << "the executor was quicker";
  EXPECT_TRUE(tick.held_by(7, Holder::kExecutor));
}

TEST_F(PipelineTickTest, KeepsItsMessageWhileItsPlanIsChanged) {
  ASSERT_TRUE(tick.take_back());
  EXPECT_FALSE(tick.requeue()) << "the first message is still on its way";
  EXPECT_TRUE(tick.take(7));
}

TEST_F(PipelineTickTest, NeedsAnotherMessageWhenTheExecutorCameMeanwhile) {
  ASSERT_TRUE(tick.take_back());
  EXPECT_FALSE(tick.take(7));
  EXPECT_TRUE(tick.requeue());
  EXPECT_TRUE(tick.take(7));
}

TEST_F(PipelineTickTest, IsNotTakenForAMessageOfAnEarlierUse) {
  EXPECT_FALSE(tick.take(6));
  EXPECT_TRUE(tick.held_by(7, Holder::kQueued));
}

TEST_F(PipelineTickTest, IsGivenBackByTheLastRankWithTheTimeOfTheSlowest) {
  tick.begin(3);
  tick.note_took(Duration(5));
  EXPECT_FALSE(tick.leave());
  tick.note_took(Duration(9));
  EXPECT_FALSE(tick.leave());
  tick.note_took(Duration(7));
  EXPECT_TRUE(tick.leave());
  EXPECT_EQ(tick.took(), Duration(9));
  EXPECT_FALSE(tick.lost());
}

TEST_F(PipelineTickTest, IsLostIfOneRankLostItUntilItsNextUse) {
  tick.begin(2);
  tick.lose();
  EXPECT_FALSE(tick.leave());
  EXPECT_TRUE(tick.leave());
  EXPECT_TRUE(tick.lost());
  tick.begin(1);
  EXPECT_FALSE(tick.lost());
  EXPECT_EQ(tick.took(), Duration{});
}

TEST(TickPoolTest, HasAnotherTickForEachStageButTheFirst) {
  DeviceLimits limits;
  limits.rows = limits.pages = limits.step_tokens = 1;
  limits.context = 1;
  limits.stages = 3;
  TickPool pool(limits);
  std::size_t count = 0;
  while (PipelineTick* const tick = pool.find_free()) {
    tick->number = ++count;
    tick->set_holder(Holder::kDone);
  }
  EXPECT_EQ(count, TickPool::kTicks + 2);
}

TEST(TickPoolTest, FreesForASuccessorWhatAFailedSchedulerHadInHand) {
  DeviceLimits limits;
  limits.rows = limits.pages = limits.step_tokens = 1;
  limits.context = 1;
  TickPool pool(limits);
  for (std::size_t i = 0; i < TickPool::kTicks; ++i) {
    PipelineTick* const tick = pool.find_free();
    ASSERT_NE(tick, nullptr);
    tick->number = i + 1;
    tick->set_holder(i == 0 ? Holder::kScheduler : Holder::kDone);
  }
  EXPECT_EQ(pool.find_free(), nullptr);
  pool.reclaim();
  PipelineTick* const freed = pool.find_free();
  ASSERT_NE(freed, nullptr);
  EXPECT_TRUE(pool.give_back(*freed)) << "somebody waits for one";
  EXPECT_FALSE(pool.give_back(*freed));
}

}  // namespace
}  // namespace weft
