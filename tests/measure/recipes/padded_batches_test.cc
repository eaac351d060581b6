#include "weft/measure/recipes/padded_batches.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace weft::measure {
namespace {

StepRecord step_of(std::int32_t decodes, std::int32_t prompt_tokens, int milliseconds) {
  StepRecord record;
  record.ended = record.began + std::chrono::milliseconds(milliseconds);
  record.decodes = decodes;
  record.prefills = prompt_tokens > 0 ? 1 : 0;
  record.prefill_tokens = prompt_tokens;
  return record;
}

TEST(PaddedBatchesTest, CostsAreFoundInStepsThatHaveThem) {
  // A step takes 10 ms, 2 ms for each sequence that continues, and 1 ms for each token of a prompt.
  const StepCosts costs = StepCosts::of({step_of(1, 0, 12), step_of(4, 0, 18), step_of(0, 8, 18),
                                         step_of(2, 3, 17), step_of(8, 0, 26)});
  EXPECT_NEAR(costs.step, 0.010, 1e-9);
  EXPECT_NEAR(costs.decode, 0.002, 1e-9);
  EXPECT_NEAR(costs.prompt_token, 0.001, 1e-9);
}

TEST(PaddedBatchesTest, WhatNoStepShowsCostsNothing) {
  const StepCosts costs = StepCosts::of({step_of(3, 0, 12), step_of(3, 0, 12)});
  EXPECT_NEAR(costs.step + 3 * costs.decode, 0.012, 1e-9);
  EXPECT_EQ(costs.prompt_token, 0);
  EXPECT_EQ(StepCosts::of({}).step, 0);
}

TEST(PaddedBatchesTest, AllOfABatchReturnWithItsLongestAndLaterOnesWait) {
  const StepCosts costs{.step = 1, .decode = 0.5, .prompt_token = 0.25};
  // The first runs alone; the two that come meanwhile run together, after it.
  const std::vector<Outcome> outcomes =
      padded_batches({{0, 4, 3}, {1, 4, 2}, {2, 8, 6}, {100, 4, 1}}, 8, costs);
  ASSERT_EQ(outcomes.size(), 4U);
  const double first = 1 + 4 * 0.25 + 2 * 1.5;
  EXPECT_DOUBLE_EQ(outcomes[0].end, first);
  const double second = first + 1 + 12 * 0.25 + 5 * 2;
  EXPECT_DOUBLE_EQ(outcomes[1].began + outcomes[1].end, second);
  EXPECT_DOUBLE_EQ(outcomes[2].began + outcomes[2].end, second);
  EXPECT_DOUBLE_EQ(outcomes[3].began, 100);
  EXPECT_DOUBLE_EQ(outcomes[3].end, 2);
  EXPECT_EQ(outcomes[2].output, 6);
}

TEST(PaddedBatchesTest, ABatchHasNoMoreThanItsRows) {
  const StepCosts costs{.step = 1, .decode = 0, .prompt_token = 0};
  const std::vector<Arrival> five(5, Arrival{0, 4, 10});
  const auto outcomes = padded_batches(five, 2, costs);
  EXPECT_DOUBLE_EQ(outcomes[1].end, 10);
  EXPECT_DOUBLE_EQ(outcomes[2].end, 20);
  EXPECT_DOUBLE_EQ(outcomes[4].end, 30);
}

}  // namespace
}  // namespace weft::measure
