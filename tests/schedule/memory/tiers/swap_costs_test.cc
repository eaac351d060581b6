#include "weft/schedule/memory/tiers/swap_costs.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft {
namespace {

using std::chrono::microseconds;

/// Pages of 16 tokens.
DeviceLimits limits_with(std::int64_t window = 0) {
  DeviceLimits limits;
  limits.page_tokens = 16;
  limits.window = window;
  return limits;
}

/// Steps of which each token of a prompt takes 10 us.
StepTimeModel ten_a_token() {
  StepTimeModel times;
  for (int i = 0; i < 400; ++i) {
    const std::int32_t tokens = 16 * (i % 9);
    times.learn({1, tokens, tokens}, microseconds(500 + 10 * tokens));
  }
  return times;
}

TEST(SwapCosts, PagesAreCopiedWhileItIsNotKnownWhatThatTakes) {
  const StepTimeModel unknown;
  SwapCosts costs(unknown, limits_with());
  EXPECT_TRUE(costs.copying_is_sooner(1, 0, 1));
  costs.learn(4, microseconds(4'000'000));
  EXPECT_TRUE(costs.copying_is_sooner(1, 0, 1)) << "nor what computing takes";
  const StepTimeModel times = ten_a_token();
  EXPECT_TRUE(SwapCosts(times, limits_with()).copying_is_sooner(1, 0, 1));
}

TEST(SwapCosts, WhatIsComputedSoonerIsComputed) {
  const StepTimeModel times = ten_a_token();
  SwapCosts costs(times, limits_with());
  costs.learn(8, microseconds(8 * 80));  // computing a page takes 160
  EXPECT_TRUE(costs.copying_is_sooner(8, 0, 8));
  for (int i = 0; i < 100; ++i) costs.learn(8, microseconds(8 * 320));
  EXPECT_FALSE(costs.copying_is_sooner(8, 0, 8));
}

TEST(SwapCosts, FewPagesMaySpareTheComputingOfMany) {
  const StepTimeModel times = ten_a_token();
  SwapCosts costs(times, limits_with());
  costs.learn(8, microseconds(8 * 320));  // computing a page takes 160
  EXPECT_FALSE(costs.copying_is_sooner(2, 0, 3));
  EXPECT_TRUE(costs.copying_is_sooner(2, 0, 5));
}

TEST(SwapCosts, CopiesThatTookNoTimeTellNothing) {
  const StepTimeModel times = ten_a_token();
  SwapCosts costs(times, limits_with());
  costs.learn(1, microseconds(1'000));
  costs.learn(0, microseconds(1));
  costs.learn(1'000, microseconds(0));
  EXPECT_FALSE(costs.copying_is_sooner(1, 0, 1));
}

TEST(SwapCosts, WhatIsBeforeTheWindowMakesComputingNoSlower) {
  // A token of the context takes 10 us as well.
  StepTimeModel times;
  for (int i = 0; i < 400; ++i) {
    const std::int32_t tokens = 16 * (i % 9);
    const std::int64_t context = tokens + 100 * (i % 7);
    times.learn({1, tokens, context}, microseconds(500 + 10 * (tokens + context)));
  }
  const auto is_copied = [&](std::int64_t window) {
    SwapCosts costs(times, limits_with(window));
    costs.learn(1, microseconds(1'000));  // computing it takes 320 and what is before it
    return costs.copying_is_sooner(1, 400, 1);
  };
  EXPECT_TRUE(is_copied(0));
  EXPECT_FALSE(is_copied(32));
}

}  // namespace
}  // namespace weft
