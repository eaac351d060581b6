#include "weft/train/step/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "weft/train/train_error.h"

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
  EXPECT_DOUBLE_EQ(optimizer.step(pairs).value(), 5);
  EXPECT_NEAR(pairs.pairs[0].a[0], 0.9, 1e-6);
  EXPECT_EQ(pairs.pairs[0].a[1], -2);
  EXPECT_NEAR(pairs.pairs[0].b[0], 0.4, 1e-6);
}

TEST(OptimizerTest, AStepUsesUpTheGradients) {
  LowRankPairs pairs = one_pair();
  Optimizer optimizer({}, pairs);
  ASSERT_TRUE(optimizer.step(pairs));
  EXPECT_EQ(pairs.pairs[0].a_gradient, (std::vector<float>{0, 0}));
  EXPECT_EQ(pairs.pairs[0].b_gradient, (std::vector<float>{0}));
}

TEST(OptimizerTest, GradientsAreClippedToTheirCommonNorm) {
  LowRankPairs pairs = one_pair();
  Optimizer optimizer({.clip = 1}, pairs);
  EXPECT_DOUBLE_EQ(optimizer.step(pairs).value(), 5);
  EXPECT_NEAR(optimizer.moments()[0].a_first[0], 0.1 * 3 / 5, 1e-6);
  EXPECT_NEAR(optimizer.moments()[0].b_first[0], 0.1 * 4 / 5, 1e-6);
}

TEST(OptimizerTest, DecayDrawsNumbersToZeroApartFromTheirGradients) {
  LowRankPairs pairs = one_pair();
  Optimizer optimizer({.rate = 0.1, .schedule = RateSchedule::kConstant, .clip = 0, .decay = 0.5},
                      pairs);
  ASSERT_TRUE(optimizer.step(pairs));
  EXPECT_NEAR(pairs.pairs[0].a[1], -2 * 0.95, 1e-6);
}

TEST(OptimizerTest, NumbersThatWouldNotBeFiniteAreRefusedAndNothingChanges) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float gradient : {infinity, std::nanf(""), 1e22F}) {
    LowRankPairs pairs = one_pair();
    pairs.pairs[0].b_gradient = {gradient};
    Optimizer optimizer({.rate = 0.1, .clip = 0}, pairs);
    const auto norm = optimizer.step(pairs);
    ASSERT_FALSE(norm) << gradient;  // the square of 1e22 is no float32
    EXPECT_EQ(norm.error().code, TrainErrc::kNotFinite);
    EXPECT_EQ(pairs.pairs[0].a, (std::vector<float>{1, -2}));
    EXPECT_EQ(optimizer.moments()[0].a_first, (std::vector<float>{0, 0}));
    EXPECT_EQ(optimizer.steps_done(), 0);
  }
}

TEST(OptimizerTest, SettingsOutOfRangeAreRefusedByTheirNames) {
  EXPECT_TRUE(check_settings({}));
  const double nan = std::nan("");
  const auto refusal = [](const OptimizerSettings& settings) {
    const auto checked = check_settings(settings);
    return checked ? std::string("none") : checked.error().detail;
  };
  EXPECT_EQ(refusal({.rate = 0}), "rate: must be more than 0");
  EXPECT_EQ(refusal({.rate = nan}), "rate: must be 0 .. 1e30");
  EXPECT_EQ(refusal({.rate = 1e31}), "rate: must be 0 .. 1e30");
  EXPECT_EQ(refusal({.clip = -1}), "clip: must be 0 .. 1e30");
  EXPECT_EQ(refusal({.decay = nan}), "decay: must be 0 .. 1e30");
  EXPECT_EQ(refusal({.beta1 = 1}), "beta: must be 0 or more, and less than 1");
  EXPECT_EQ(refusal({.epsilon = 0}), "epsilon: must be more than 0");
  EXPECT_EQ(refusal({.steps = 0}), "steps: must be 1 .. 2^40");
  EXPECT_EQ(refusal({.warmup = -1}), "warmup: must be 0 .. 2^40");
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
