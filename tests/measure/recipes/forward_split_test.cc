#include "weft/measure/recipes/forward_split.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft::measure {
namespace {

TimePoint at(int milliseconds) { return TimePoint(std::chrono::milliseconds(milliseconds)); }

StepRecord step_between(int from, int to) {
  StepRecord record;
  record.began = at(from);
  record.ended = at(to);
  return record;
}

TEST(ForwardSplitTest, StepsCountAsFarAsTheyLieWithinTheRequest) {
  EngineRun run;
  run.began = at(1000);
  Outcome one;
  one.began = 0.010;
  one.end = 0.050;
  run.outcomes = {one};
  // The steps lie before the request, across its beginning, within it, across its end, and after
  // it.
  run.steps = {step_between(1000, 1005), step_between(1005, 1015), step_between(1016, 1046),
               step_between(1055, 1070), step_between(1070, 1080)};
  const ForwardSplit split = split_forward(run);
  EXPECT_NEAR(split.whole, 0.050, 1e-9);
  EXPECT_NEAR(split.forward, 0.005 + 0.030 + 0.005, 1e-9);
  EXPECT_NEAR(split.others, 0.010, 1e-9);
  EXPECT_NEAR(split.others_per_step, 0.010 / 3, 1e-9);
}

TEST(ForwardSplitTest, NothingMeasuredIsNothing) { EXPECT_EQ(split_forward({}).whole, 0); }

}  // namespace
}  // namespace weft::measure
