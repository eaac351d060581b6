#include "weft/schedule/sequence/progress.h"

#include <gtest/gtest.h>

namespace weft::test {
namespace {

TEST(Progress, APromptIsKnownAndNotComputed) {
  const Progress progress(5);
  EXPECT_EQ(progress.known(), 5);
  EXPECT_EQ(progress.to_plan(), 5);
  EXPECT_EQ(progress.known_in_plans(), 0);
  EXPECT_EQ(progress.verified(), 0);
}

TEST(Progress, WhatAPlanComputesIsVerifiedByItsResult) {
  Progress progress(5);
  progress.begin(2);
  progress.plan(3);
  EXPECT_EQ(progress.to_plan(), 0);
  EXPECT_EQ(progress.verified(), 0);
  progress.verify();
  progress.learn(1);
  EXPECT_EQ(progress.known(), 6);
  EXPECT_EQ(progress.to_plan(), 1);
  EXPECT_EQ(progress.verified(), 5) << "nobody has computed the newest token";
}

TEST(Progress, APlanAheadComputesATokenThatIsNotKnown) {
  Progress progress(5);
  progress.plan(5);
  progress.plan(1);
  EXPECT_EQ(progress.planned(), 6);
  EXPECT_EQ(progress.to_plan(), 0);
  EXPECT_EQ(progress.known_in_plans(), 5);
}

TEST(Progress, APlanThatIsTakenBackLeavesNothing) {
  Progress progress(5);
  progress.begin(1);
  progress.plan(4);
  progress.take_back(4);
  EXPECT_EQ(progress.planned(), 1);
  EXPECT_EQ(progress.to_plan(), 4);
}

TEST(Progress, AnotherSequenceSharesWhatIsComputed) {
  Progress first(5);
  first.plan(5);
  Progress second(5);
  second.share(first);
  EXPECT_EQ(second.planned(), 5);
}

TEST(Progress, ARestartKeepsWhatIsKnown) {
  Progress progress(5);
  progress.plan(5);
  progress.verify();
  progress.learn(1);
  progress.restart();
  EXPECT_EQ(progress.known(), 6);
  EXPECT_EQ(progress.planned(), 0);
  EXPECT_EQ(progress.verified(), 0);
}

}  // namespace
}  // namespace weft::test
