#include "weft/schedule/memory/swap_costs.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft {
namespace {

using std::chrono::microseconds;

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
  SwapCosts costs(unknown, 16);
  EXPECT_TRUE(costs.copying_is_sooner(1, 0));
  costs.learn(4, microseconds(4'000'000));
  EXPECT_TRUE(costs.copying_is_sooner(1, 0)) << "nor what computing takes";
  const StepTimeModel times = ten_a_token();
  EXPECT_TRUE(SwapCosts(times, 16).copying_is_sooner(1, 0));
}

TEST(SwapCosts, WhatIsComputedSoonerIsComputed) {
  const StepTimeModel times = ten_a_token();
  SwapCosts costs(times, 16);
  costs.learn(8, microseconds(8 * 80));  // computing a page takes 160
  EXPECT_TRUE(costs.copying_is_sooner(8, 0));
  for (int i = 0; i < 100; ++i) costs.learn(8, microseconds(8 * 320));
  EXPECT_FALSE(costs.copying_is_sooner(8, 0));
}

TEST(SwapCosts, CopiesThatTookNoTimeTellNothing) {
  const StepTimeModel times = ten_a_token();
  SwapCosts costs(times, 16);
  costs.learn(1, microseconds(1'000));
  costs.learn(0, microseconds(1));
  costs.learn(1'000, microseconds(0));
  EXPECT_FALSE(costs.copying_is_sooner(1, 0));
}

}  // namespace
}  // namespace weft
