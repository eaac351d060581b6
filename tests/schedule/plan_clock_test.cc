#include "weft/schedule/plan_clock.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

/// A clock by which so many plans have come to be.
PlanClock after_plans(int count) {
  PlanClock clock;
  for (int i = 0; i < count; ++i) {
    clock.begin_plan();
    clock.write();
  }
  return clock;
}

TEST(PlanClock, NoPlanIsSureBeforeTheFirst) {
  const PlanClock clock;
  EXPECT_EQ(clock.making(), 1U);
  EXPECT_EQ(clock.newest(), 0U);
  EXPECT_EQ(clock.preceding(), 0U);
  EXPECT_EQ(clock.sure(), 0U);
  EXPECT_EQ(clock.over(), 0U);
  EXPECT_EQ(clock.needs_from(), 1U);
}

TEST(PlanClock, APlanIsSureOnceTheNextOneHasComeToBe) {
  PlanClock clock = after_plans(1);
  EXPECT_EQ(clock.newest(), 1U);
  EXPECT_EQ(clock.sure(), 0U) << "it may be amended";
  clock.begin_plan();
  EXPECT_EQ(clock.making(), 2U);
  EXPECT_EQ(clock.preceding(), 1U) << "it precedes the second, if there is one";
  EXPECT_EQ(clock.sure(), 0U);
  clock.write();
  EXPECT_EQ(clock.newest(), 2U);
  EXPECT_EQ(clock.sure(), 1U);
}

TEST(PlanClock, APlanThatComesToNothingLeavesItsNumberToTheNext) {
  PlanClock clock = after_plans(3);
  clock.begin_plan();
  EXPECT_EQ(clock.making(), 4U);
  clock.begin_plan();
  EXPECT_EQ(clock.making(), 4U);
  EXPECT_EQ(clock.newest(), 3U);
  EXPECT_EQ(clock.writings(), 3U);
}

TEST(PlanClock, ThePlanThatIsAmendedDoesNotPrecedeItself) {
  PlanClock clock = after_plans(3);
  clock.begin_plan();  // comes to nothing
  clock.begin_amending(3);
  EXPECT_EQ(clock.making(), 3U);
  EXPECT_EQ(clock.preceding(), 2U);
  EXPECT_EQ(clock.writings(), 3U);
  clock.write();
  EXPECT_EQ(clock.newest(), 3U);
  EXPECT_EQ(clock.sure(), 2U);
  EXPECT_EQ(clock.writings(), 4U) << "what was noted down for the next plan is in this one";
}

TEST(PlanClock, APlanIsSureOnceItsResultIsIn) {
  PlanClock clock = after_plans(2);
  clock.run(1);
  EXPECT_EQ(clock.sure(), 1U);
  clock.run(2);
  EXPECT_EQ(clock.sure(), 2U);
  EXPECT_EQ(clock.preceding(), 2U);
  EXPECT_EQ(clock.over(), 2U);
}

TEST(PlanClock, ALossIsNewsOnceForThePlansThatWereMadeBeforeIt) {
  PlanClock clock = after_plans(3);
  clock.run(1);
  EXPECT_TRUE(clock.lose(3)) << "it was refused, and that is told before the second has run";
  EXPECT_EQ(clock.needs_from(), 4U);
  EXPECT_FALSE(clock.lose(2));
  EXPECT_EQ(clock.over(), 3U);
  EXPECT_EQ(clock.sure(), 2U) << "no result is in that says more";
  clock.begin_plan();
  clock.write();
  EXPECT_TRUE(clock.lose(4)) << "it was made since";
  EXPECT_EQ(clock.needs_from(), 5U);
}

TEST(PlanClock, WhatIsAmendedSinceALossIsNeeded) {
  PlanClock clock = after_plans(3);
  EXPECT_TRUE(clock.lose(2));
  clock.begin_amending(3);
  EXPECT_EQ(clock.needs_from(), 3U);
  clock.write();
  EXPECT_TRUE(clock.lose(3));
}

TEST(PlanClock, TellsMisuse) {
  PlanClock clock = after_plans(2);
  WEFT_EXPECT_BUG(clock.begin_amending(1), "is amended that is not the newest");
  WEFT_EXPECT_BUG(clock.run(3), "of a plan that was never made");
}

}  // namespace
}  // namespace weft
