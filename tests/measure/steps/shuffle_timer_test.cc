#include "weft/measure/steps/shuffle_timer.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace weft::measure {
namespace {

/// Keeps the plans that it gets, and returns a token for each sample.
class SamplingPlanKeeper final : public StepDevice {
 public:
  [[nodiscard]] const DeviceLimits& limits() const noexcept override { return limits_; }
  void run(const Plan& plan, StepResult& result) override {
    plans.push_back(plan);
    for (const PlanSample& sample : plan.samples) {
      SampleResult one;
      one.token = sample.row;
      result.samples.push_back(one);
    }
  }

  std::vector<Plan> plans;

 private:
  DeviceLimits limits_{.rows = 8};
};

Plan plan_of_two() {
  Plan plan;
  plan.tick = 7;
  plan.rows = 2;
  plan.entries = {{0, 1, 9, kLastToken}, {1, 1, 9, kLastToken}};
  plan.samples = {{0, 0}, {1, 1}};
  return plan;
}

TEST(ShuffleTimerTest, WhatMovesNothingIsOneStep) {
  const auto device = std::make_shared<SamplingPlanKeeper>();
  const auto steps = std::make_shared<ShuffleTimer::Steps>();
  StepResult result;
  ShuffleTimer(device, steps).run(plan_of_two(), result);
  EXPECT_EQ(device->plans.size(), 1U);
  ASSERT_EQ(steps->size(), 1U);
  EXPECT_EQ(steps->front().shuffle, 0);
  EXPECT_GT(steps->front().all, 0);
}

TEST(ShuffleTimerTest, MovesGoFirstAndAloneAndTheRestIsWhole) {
  const auto device = std::make_shared<SamplingPlanKeeper>();
  const auto steps = std::make_shared<ShuffleTimer::Steps>();
  Plan plan = plan_of_two();
  plan.moves = {{3, 1}};
  plan.slab_copies = {{30, 10}};
  StepResult result;
  ShuffleTimer(device, steps).run(plan, result);
  ASSERT_EQ(device->plans.size(), 2U);
  const Plan& moves = device->plans.front();
  EXPECT_EQ(moves.moves, plan.moves);
  EXPECT_EQ(moves.slab_copies.size(), 1U);
  EXPECT_TRUE(moves.entries.empty());
  EXPECT_EQ(moves.rows, 2);
  const Plan& rest = device->plans.back();
  EXPECT_TRUE(rest.moves.empty());
  EXPECT_TRUE(rest.slab_copies.empty());
  EXPECT_EQ(rest.entries.size(), 2U);
  EXPECT_EQ(result.samples.size(), 2U);
  ASSERT_EQ(steps->size(), 1U);
  EXPECT_GT(steps->front().shuffle, 0);
  EXPECT_GE(steps->front().all, steps->front().shuffle);
}

}  // namespace
}  // namespace weft::measure
