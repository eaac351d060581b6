#include "weft/schedule/training/training_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace weft {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr TimePoint at(int ms) { return TimePoint(milliseconds(ms)); }
constexpr Duration kTick{1};

/// A policy with a task, and the plans that it decides on.
class TrainingPolicyTest : public testing::Test {
 protected:
  void start(TrainingKind kind, milliseconds bound = milliseconds(100)) {
    policy_.emplace(TrainingOptions{kind, bound});
    policy_->set_task(1, at(0));
  }
  /// Trains an iteration in one piece while nobody is there.
  void train_iteration(milliseconds took, int now = 0) {
    ASSERT_EQ(idle_plan(now), kWholeIteration);
    finish({.pieces = 1, .ends_iteration = true, .took = took, .longest = took});
  }
  std::int32_t idle_plan(int now) {
    return policy_->choose({.plan = ++plan_, .computes = false, .batch_is_empty = true}, at(now));
  }
  std::int32_t busy_plan(int now, std::optional<Duration> left = {}) {
    return policy_->choose({.plan = ++plan_, .computes = true, .left = left}, at(now));
  }
  void finish(const TrainingDone& done) { policy_->take(plan_, done); }

  std::optional<TrainingPolicy> policy_;
  std::uint64_t plan_ = 0;
};

TEST_F(TrainingPolicyTest, NobodyWaitsWithoutATask) {
  start(TrainingKind::kDeferral);
  train_iteration(milliseconds(10));
  EXPECT_FALSE(policy_->joins(at(0), at(0)));
  policy_->set_task(0, at(1));
  EXPECT_TRUE(policy_->joins(at(0), at(0)));
  EXPECT_EQ(idle_plan(1), 0);
}

TEST_F(TrainingPolicyTest, ARequestJoinsOnceItsWaitAndAnIterationExceedTheBound) {
  start(TrainingKind::kDeferral, milliseconds(100));
  train_iteration(milliseconds(30));
  EXPECT_FALSE(policy_->joins(at(1000), at(1000)));
  EXPECT_FALSE(policy_->joins(at(1000), at(1070))) << "it does not exceed it yet";
  EXPECT_TRUE(policy_->joins(at(1000), at(1070) + kTick));
  EXPECT_EQ(policy_->joins_at(at(1000), at(1000)), at(1070) + kTick);
}

TEST_F(TrainingPolicyTest, ARequestJoinsAtOnceWhereAnIterationExceedsTheBound) {
  start(TrainingKind::kDeferral, milliseconds(100));
  train_iteration(milliseconds(101));
  EXPECT_TRUE(policy_->joins(at(1000), at(1000)));
  start(TrainingKind::kDeferral, milliseconds(0));
  train_iteration(milliseconds(1));
  EXPECT_TRUE(policy_->joins(at(1000), at(1000)));
}

TEST_F(TrainingPolicyTest, NobodyWaitsBeforeAnIterationIsMeasured) {
  start(TrainingKind::kDeferral, milliseconds(100));
  EXPECT_TRUE(policy_->joins(at(0), at(0)));
  EXPECT_EQ(policy_->iteration_time(), std::nullopt);
  ASSERT_EQ(idle_plan(0), kWholeIteration);
  finish({.pieces = 3, .took = milliseconds(9), .longest = milliseconds(4)});
  EXPECT_TRUE(policy_->joins(at(0), at(0))) << "its end is not known";
}

TEST_F(TrainingPolicyTest, AnIterationInPartsIsMeasuredAsOne) {
  start(TrainingKind::kDeferral);
  for (const bool ends : {false, false, true}) {
    ASSERT_EQ(idle_plan(0), kWholeIteration);
    finish(
        {.pieces = 2, .ends_iteration = ends, .took = milliseconds(7), .longest = milliseconds(4)});
  }
  EXPECT_EQ(policy_->iteration_time(), milliseconds(21));
  EXPECT_EQ(policy_->stats().pieces, 6U);
  EXPECT_EQ(policy_->stats().iterations, 1U);
  EXPECT_EQ(policy_->stats().took, milliseconds(21));
}

TEST_F(TrainingPolicyTest, OneIterationThatIsFarOutDoesNotMoveTheEstimate) {
  start(TrainingKind::kDeferral);
  for (const int ms : {10, 11, 9, 5000, 10, 11}) train_iteration(milliseconds(ms));
  EXPECT_EQ(policy_->iteration_time(), milliseconds(11));
  for (int i = 0; i < 9; ++i) train_iteration(milliseconds(40));
  EXPECT_EQ(policy_->iteration_time(), milliseconds(40)) << "a lasting change does";
}

TEST_F(TrainingPolicyTest, AnIterationThatTheRuleHasLetBeginIsNotInterruptedForItsRequest) {
  start(TrainingKind::kDeferral, milliseconds(100));
  train_iteration(milliseconds(30));
  // At 1060 the request has waited for 60 ms, so an iteration may begin.
  ASSERT_FALSE(policy_->joins(at(1000), at(1060)));
  ASSERT_EQ(idle_plan(1060), kWholeIteration);
  EXPECT_FALSE(policy_->joins(at(1000), at(1080)));
  EXPECT_FALSE(policy_->joins(at(1000), at(1090)));
  EXPECT_EQ(policy_->joins_at(at(1000), at(1080)), at(1100) + kTick);
  finish(
      {.pieces = 1, .ends_iteration = true, .took = milliseconds(30), .longest = milliseconds(30)});
  EXPECT_TRUE(policy_->joins(at(1000), at(1090))) << "another one may not begin";
}

TEST_F(TrainingPolicyTest, ARequestJoinsAtTheBoundHoweverWrongTheEstimateWas) {
  start(TrainingKind::kDeferral, milliseconds(100));
  train_iteration(milliseconds(30));
  ASSERT_EQ(idle_plan(1000), kWholeIteration);  // which takes an hour
  EXPECT_FALSE(policy_->joins(at(1001), at(1101)));
  EXPECT_TRUE(policy_->joins(at(1001), at(1101) + kTick));
}

TEST_F(TrainingPolicyTest, ARequestJoinsAtOnceWhereTheRestOfAnIterationExceedsTheBound) {
  start(TrainingKind::kDeferral, milliseconds(10));
  train_iteration(milliseconds(30));
  ASSERT_EQ(idle_plan(1000), kWholeIteration);
  EXPECT_TRUE(policy_->joins(at(1000), at(1000)));
  EXPECT_TRUE(policy_->joins(at(1019), at(1019)));
  EXPECT_FALSE(policy_->joins(at(1020), at(1020))) << "10 ms are left";
}

TEST_F(TrainingPolicyTest, WhatIsLeftOfAnInterruptedIterationCounts) {
  start(TrainingKind::kDeferral, milliseconds(100));
  train_iteration(milliseconds(30));
  ASSERT_EQ(idle_plan(1000), kWholeIteration);
  finish({.pieces = 2, .took = milliseconds(20), .longest = milliseconds(10)});
  EXPECT_EQ(policy_->joins_at(at(2000), at(2000)), at(2090) + kTick);
}

TEST_F(TrainingPolicyTest, OnePlanAtATimeHasTraining) {
  start(TrainingKind::kDeferral);
  ASSERT_EQ(idle_plan(0), kWholeIteration);
  EXPECT_EQ(idle_plan(0), 0);
  policy_->take(1, {.pieces = 1, .took = milliseconds(1), .longest = milliseconds(1)});
  EXPECT_EQ(idle_plan(0), kWholeIteration);
  policy_->lose(plan_);
  EXPECT_EQ(idle_plan(0), kWholeIteration);
}

TEST_F(TrainingPolicyTest, AnAmendedPlanIsDecidedAnew) {
  start(TrainingKind::kDeferral);
  ASSERT_EQ(idle_plan(0), kWholeIteration);
  EXPECT_EQ(policy_->choose({.plan = plan_, .computes = true}, at(0)), 0);
  EXPECT_EQ(idle_plan(0), kWholeIteration) << "the earlier one has none any more";
}

TEST_F(TrainingPolicyTest, NoIterationBeginsWhileAGroupWaitsForSomethingElse) {
  start(TrainingKind::kDeferral);
  EXPECT_EQ(policy_->choose({.plan = ++plan_, .batch_is_empty = true, .is_awaited = true}, at(0)),
            0);
  EXPECT_FALSE(policy_->interrupt());
  ASSERT_EQ(idle_plan(0), kWholeIteration);
  EXPECT_TRUE(policy_->interrupt());
  EXPECT_FALSE(policy_->interrupt()) << "one plan is enough";
  finish({.pieces = 1, .took = milliseconds(1), .longest = milliseconds(1)});
  EXPECT_FALSE(policy_->interrupt());
}

TEST_F(TrainingPolicyTest, APieceBesideABatchIsNotInterrupted) {
  start(TrainingKind::kFill);
  ASSERT_EQ(busy_plan(0), 1);
  EXPECT_FALSE(policy_->interrupt());
}

TEST_F(TrainingPolicyTest, TheLongestWaitBehindAnIterationIsKnown) {
  start(TrainingKind::kDeferral);
  ASSERT_EQ(busy_plan(1000), 1);
  finish({});
  const TrainingPolicy::PlanState state{
      .plan = ++plan_, .batch_is_empty = true, .longest_wait = milliseconds(7)};
  ASSERT_EQ(policy_->choose(state, at(1000)), kWholeIteration);
  EXPECT_EQ(policy_->stats().longest_wait, milliseconds(7));
}

TEST_F(TrainingPolicyTest, ABatchThatIsNeverEmptyLeavesTrainingItsShare) {
  start(TrainingKind::kDeferral);
  EXPECT_EQ(busy_plan(999), 0);
  ASSERT_EQ(busy_plan(1000), 1) << "after a second, as no piece is known";
  finish({.pieces = 1, .took = milliseconds(2), .longest = milliseconds(2)});
  EXPECT_EQ(busy_plan(1010), 0);
  EXPECT_EQ(busy_plan(1049), 0);
  EXPECT_EQ(busy_plan(1050), 1) << "20 times a piece after the last one";
}

TEST_F(TrainingPolicyTest, FillingTakesThePiecesThatAStepLeavesTimeFor) {
  start(TrainingKind::kFill);
  train_iteration(milliseconds(3));
  EXPECT_TRUE(policy_->joins(at(0), at(0)));
  EXPECT_EQ(busy_plan(1, milliseconds(2)), 0);
  EXPECT_EQ(busy_plan(1, milliseconds(-5)), 0);
  EXPECT_EQ(busy_plan(1, milliseconds(10)), 3);
  finish({.pieces = 3, .took = milliseconds(9), .longest = milliseconds(3)});
  EXPECT_EQ(busy_plan(2), 1) << "where no step is too long";
}

TEST_F(TrainingPolicyTest, FillingDoesNotStarveWherePiecesNeverFit) {
  start(TrainingKind::kFill);
  train_iteration(milliseconds(30), 0);
  EXPECT_EQ(busy_plan(1, milliseconds(2)), 0);
  EXPECT_EQ(busy_plan(600, milliseconds(2)), 0);
  EXPECT_EQ(busy_plan(601, milliseconds(2)), 1);
}

TEST_F(TrainingPolicyTest, InferenceFirstTrainsOnlyWhileNobodyIsThere) {
  start(TrainingKind::kInferenceFirst);
  train_iteration(milliseconds(3));
  EXPECT_TRUE(policy_->joins(at(0), at(0)));
  EXPECT_EQ(busy_plan(3'600'000, milliseconds(1000)), 0);
  EXPECT_EQ(idle_plan(3'600'000), kWholeIteration);
}

TEST_F(TrainingPolicyTest, FinishFirstLetsRequestsWaitUntilTheTaskHasEnded) {
  start(TrainingKind::kFinishFirst);
  EXPECT_FALSE(policy_->joins(at(0), at(0) + hours(24)));
  EXPECT_EQ(policy_->joins_at(at(0), at(0)), std::nullopt);
  EXPECT_EQ(busy_plan(3'600'000), 0) << "the batch runs to its end";
  train_iteration(milliseconds(3));
  policy_->set_task(0, at(1));
  EXPECT_TRUE(policy_->joins(at(0), at(0)));
}

TEST_F(TrainingPolicyTest, OffNeverTrains) {
  start(TrainingKind::kOff);
  EXPECT_EQ(idle_plan(0), 0);
  EXPECT_TRUE(policy_->joins(at(0), at(0)));
}

TEST_F(TrainingPolicyTest, APausedTaskKeepsItsMeasurementsAndAnotherOneHasNone) {
  start(TrainingKind::kDeferral);
  train_iteration(milliseconds(30));
  policy_->set_task(0, at(1));
  policy_->set_task(1, at(2));
  EXPECT_EQ(policy_->iteration_time(), milliseconds(30));
  policy_->set_task(2, at(3));
  EXPECT_EQ(policy_->iteration_time(), std::nullopt);
}

TEST_F(TrainingPolicyTest, APlanOfAnEarlierTaskIsNotMeasured) {
  start(TrainingKind::kDeferral);
  ASSERT_EQ(idle_plan(0), kWholeIteration);
  policy_->set_task(2, at(1));
  EXPECT_EQ(idle_plan(1), 0) << "one plan at a time";
  policy_->take(
      1,
      {.pieces = 1, .ends_iteration = true, .took = milliseconds(9), .longest = milliseconds(9)});
  EXPECT_EQ(policy_->iteration_time(), std::nullopt);
  EXPECT_EQ(idle_plan(1), kWholeIteration);
}

/// Steps of a batch that is never empty, with the pieces that fill them up.
class FilledStepsTest : public TrainingPolicyTest {
 protected:
  static constexpr milliseconds kStep{10};
  static constexpr milliseconds kTarget{20};

  FilledStepsTest() {
    start(TrainingKind::kFill);
    train_iteration(milliseconds(3));
  }
  /// Returns the pieces that `steps` steps run, the next of which takes `time()`.
  template <class Time>
  int run(int steps, Time time) {
    int all = 0;
    for (int i = 0; i < steps; ++i) {
      const std::int32_t pieces = policy_->choose(
          {.plan = ++plan_, .computes = true, .left = Duration(kTarget - kStep)}, now_);
      TrainingDone done{.pieces = pieces};
      for (std::int32_t piece = 0; piece < pieces; ++piece) {
        const Duration took = time();
        done.took += took;
        done.longest = std::max(done.longest, took);
      }
      steps_.push_back(kStep + done.took);
      now_ += steps_.back();
      if (pieces > 0) finish(done);
      all += pieces;
    }
    return all;
  }
  /// Returns the time that one step in a hundred exceeds.
  [[nodiscard]] Duration most_of_steps() {
    std::ranges::sort(steps_);
    return steps_[steps_.size() * 99 / 100];
  }
  [[nodiscard]] Duration mean_of_steps() const {
    return std::accumulate(steps_.begin(), steps_.end(), Duration{}) /
           static_cast<Duration::rep>(steps_.size());
  }

  TimePoint now_ = at(0);
  std::vector<Duration> steps_;
};

TEST_F(FilledStepsTest, ALongPieceOfAThreadThatLostItsProcessorIsSoonForgotten) {
  const auto usual = [] { return milliseconds(3); };
  EXPECT_EQ(run(100, usual), 300);
  EXPECT_EQ(run(1,
                [once = false]() mutable {
                  return std::exchange(once, true) ? milliseconds(3) : milliseconds(60);
                }),
            3);
  constexpr int kForgets = RecentPieces::kSteps;
  EXPECT_LE(run(kForgets - 1, usual), 2) << "as no piece seems to fit";
  EXPECT_GE(run(100, usual), 290);
}

TEST_F(FilledStepsTest, OneStepInAHundredIsLongerThanPlannedHoweverManyPiecesAreLong) {
  for (const double part : {0.0, 0.002, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0}) {
    start(TrainingKind::kFill);
    train_iteration(milliseconds(3));
    now_ = at(0);
    steps_.clear();
    std::mt19937 dice(7);
    const int pieces = run(10'000, [&] {
      return std::bernoulli_distribution(part)(dice) ? milliseconds(60) : milliseconds(3);
    });
    EXPECT_LE(most_of_steps(), kTarget * 1.15) << part;
    EXPECT_GT(pieces, 80) << part;
    if (part == 1.0) {
      EXPECT_LE(mean_of_steps(), kStep * 1.06) << "the share";
    }
  }
}

TEST_F(FilledStepsTest, PiecesThatBecomeLongForGoodLeaveTrainingItsShare) {
  run(1'000, [] { return milliseconds(3); });
  run(500, [] { return milliseconds(60); });
  steps_.clear();
  EXPECT_GT(run(10'000, [] { return milliseconds(60); }), 50);
  EXPECT_LE(mean_of_steps(), kStep * 1.06);
}

}  // namespace
}  // namespace weft
