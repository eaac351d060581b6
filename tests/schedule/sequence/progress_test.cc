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

TEST(Progress, GuessesArePlannedAndNotForSure) {
  Progress progress(5);
  progress.plan(5);
  progress.plan(1 + 3, 3);
  EXPECT_EQ(progress.planned(), 9);
  EXPECT_EQ(progress.surely_planned(), 6);
  progress.plan(1 + 2, 2);
  EXPECT_EQ(progress.guesses(), 5);
  EXPECT_EQ(progress.surely_planned(), 7) << "a token of each plan";
}

TEST(Progress, AResultTakesBackWrongGuesses) {
  Progress progress(5);
  progress.plan(5 + 3, 3);
  progress.plan(1 + 2, 2);
  progress.resolve(3, 1);
  EXPECT_EQ(progress.planned(), 5 + 1 + 1 + 2);
  EXPECT_EQ(progress.surely_planned(), 5 + 1 + 1);
  for (int token = 0; token < 2; ++token) {
    progress.verify();
    progress.learn(1);
  }
  EXPECT_EQ(progress.known(), 7);
  EXPECT_EQ(progress.verified(), 6) << "the right guess is computed";
  EXPECT_EQ(progress.known(), progress.surely_planned()) << "the next plan feeds the newest token";
}

TEST(Progress, AnAmendedPlanHasNoGuesses) {
  Progress progress(5);
  progress.plan(5 + 3, 3);
  progress.plan(1 + 2, 2);
  progress.take_back_guesses(2);
  EXPECT_EQ(progress.planned(), 5 + 3 + 1);
  EXPECT_EQ(progress.guesses(), 3) << "of the plan before";
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
