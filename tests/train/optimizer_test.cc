#include "weft/train/step/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weft {
namespace {

LowRankPairs one_pair() {
  LowRankPairs all;
  all.rank = 1;
  LowRankPair& pair = all.pairs.emplace_back();
  pair.a = {1, -2};
  pair.b = {0.5F};
  pair.a_gradient = {3, 0};
  pair.b_gradient = {4};
  return all;
}

TEST(OptimizerTest, TheFirstStepMovesEachNumberByTheRateAgainstItsGradient) {
  LowRankPairs pairs = one_pair();
  Optimizer optimizer({.rate = 0.1, .schedule = RateSchedule::kConstant, .clip = 0}, pairs);
  EXPECT_DOUBLE_EQ(optimizer.step(pairs), 5);
  EXPECT_NEAR(pairs.pairs[0].a[0], 0.9, 1e-6);
  EXPECT_EQ(pairs.pairs[0].a[1], -2);
  EXPECT_NEAR(pairs.pairs[0].b[0], 0.4, 1e-6);
}

TEST(OptimizerTest, AStepUsesUpTheGradients) {
  LowRankPairs pairs = one_pair();
  Optimizer optimizer({}, pairs);
  optimizer.step(pairs);
  EXPECT_EQ(pairs.pairs[0].a_gradient, (std::vector<float>{0, 0}));
  EXPECT_EQ(pairs.pairs[0].b_gradient, (std::vector<float>{0}));
}

TEST(OptimizerTest, GradientsAreClippedToTheirCommonNorm) {
  LowRankPairs pairs = one_pair();
  Optimizer optimizer({.clip = 1}, pairs);
  EXPECT_DOUBLE_EQ(optimizer.step(pairs), 5);
  EXPECT_NEAR(optimizer.moments()[0].a_first[0], 0.1 * 3 / 5, 1e-6);
  EXPECT_NEAR(optimizer.moments()[0].b_first[0], 0.1 * 4 / 5, 1e-6);
}

TEST(OptimizerTest, DecayDrawsNumbersToZeroApartFromTheirGradients) {
  LowRankPairs pairs = one_pair();
  Optimizer optimizer({.rate = 0.1, .schedule = RateSchedule::kConstant, .clip = 0, .decay = 0.5},
                      pairs);
  optimizer.step(pairs);
  EXPECT_NEAR(pairs.pairs[0].a[1], -2 * 0.95, 1e-6);
}

TEST(OptimizerTest, TheRateRisesAndThenFallsAlongACosine) {
  const OptimizerSettings settings{.rate = 2, .warmup = 4, .steps = 12};
  EXPECT_DOUBLE_EQ(rate_of(settings, 0), 0);
  EXPECT_DOUBLE_EQ(rate_of(settings, 3), 1.5);
  EXPECT_DOUBLE_EQ(rate_of(settings, 4), 2);
  EXPECT_NEAR(rate_of(settings, 8), 1, 1e-12);
  EXPECT_NEAR(rate_of(settings, 12), 0, 1e-12);
  EXPECT_NEAR(rate_of(settings, 20), 0, 1e-12);
}

TEST(OptimizerTest, AConstantRateStaysBehindItsWarmUp) {
  const OptimizerSettings settings{
      .rate = 2, .schedule = RateSchedule::kConstant, .warmup = 1, .steps = 3};
  EXPECT_DOUBLE_EQ(rate_of(settings, 0), 0);
  EXPECT_DOUBLE_EQ(rate_of(settings, 9), 2);
}

TEST(OptimizerTest, AnUnknownScheduleIsRefusedByItsName) {
  EXPECT_EQ(rate_schedule("cosine").value(), RateSchedule::kCosine);
  EXPECT_EQ(rate_schedule("linear").error().detail,
            "schedule: \"linear\" is neither constant nor cosine");
}

}  // namespace
}  // namespace weft
