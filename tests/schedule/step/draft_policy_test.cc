// GuessPolicy with a draft model, whose guesses cost its own time beside that of verifying them.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "weft/schedule/sequence/sequence.h"
#include "weft/schedule/step/guess_policy.h"

namespace weft::test {
namespace {

constexpr std::int32_t kMostDrafted = 8;
constexpr GuessCosts kModelCosts{.step = 1000, .guess = 10, .rows = 1};

/// What a draft model takes, in nanoseconds, and how good it is.
struct DraftShape {
  double each = 80;      ///< for a guess
  double reading = 0;    ///< in each of `reads` steps, before it guesses
  int reads = 0;         ///< of each sequence
  double chance = 0.8;   ///< that a guess is right
  double look_ups = 0;   ///< how often a look-up speaks instead
  double looked_up = 0;  ///< that its guess is right
};

class DraftPolicyTest : public testing::Test {
 protected:
  DraftPolicyTest() : policy_(64) { begin(1); }

  void begin(std::size_t sequences) {
    sequences_.clear();
    while (sequences_.size() < sequences) sequences_.emplace_back(10);
    unread_.assign(sequences, 0);
  }
  void begin(std::size_t sequences, const DraftShape& draft) {
    begin(sequences);
    unread_.assign(sequences, draft.reads);
  }
  bool happens(double chance) { return uniform_(random_) < chance; }
  std::int32_t right_of(std::int32_t made, double chance) {
    std::int32_t right = 0;
    while (right < made && happens(chance)) ++right;
    return right;
  }
  /// Plans a step, lets a device guess, and tells the result.
  void step(const GuessCosts& costs, const DraftShape& draft) {
    const GuessCosts charged = policy_.begin(costs);
    for (Sequence& one : sequences_) policy_.add(one, kMostDrafted, kMostDrafted);
    const std::vector<GuessPolicy::Choice> choices = [&] {
      const auto shared = policy_.share_out(1000);
      return std::vector(shared.begin(), shared.end());
    }();
    drafted_ = 0;
    double drafting = 0;
    double reading = 0;
    std::int32_t made_in_all = 0;
    std::int32_t right_in_all = 0;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      EXPECT_LE(choices[i].drafts, choices[i].guesses);
      GuessSource source = GuessSource::kModel;
      std::int32_t made = 0;
      if (happens(draft.look_ups)) {
        source = GuessSource::kOwn;
        made = choices[i].guesses;
      } else if (choices[i].drafts > 0 && unread_[i] > 0) {
        --unread_[i];
        reading += draft.reading;
      } else {
        made = choices[i].drafts;
        drafted_ += made;
        drafting += made * draft.each;
      }
      const std::int32_t right =
          right_of(made, source == GuessSource::kModel ? draft.chance : draft.looked_up);
      policy_.note(charged, made, right);
      policy_.learn(sequences_[i], made, right, source);
      sequences_[i].progress.learn(1 + right);
      made_in_all += made;
      right_in_all += right;
    }
    const DraftTimes times{.drafting = Duration(static_cast<std::int64_t>(drafting)),
                           .reading = Duration(static_cast<std::int64_t>(reading))};
    policy_.note_drafting(charged, times, drafted_);
    time_ += costs.step + made_in_all * costs.guess + drafting + reading;
    without_ += costs.step * (costs.rows + right_in_all) / costs.rows;
    all_drafted_ += drafted_;
  }
  void steps(const GuessCosts& costs, const DraftShape& draft, int count) {
    time_ = without_ = 0;
    all_drafted_ = 0;
    for (int i = 0; i < count; ++i) step(costs, draft);
  }
  /// The time of the same tokens without guesses, over that of the last steps().
  [[nodiscard]] double gain() const { return without_ / time_; }

  GuessPolicy policy_;
  std::vector<Sequence> sequences_;
  std::vector<int> unread_;
  std::mt19937_64 random_{1};
  std::uniform_real_distribution<double> uniform_;
  std::int32_t drafted_ = 0;      // in the newest step
  std::int32_t all_drafted_ = 0;  // in the last steps()
  double time_ = 0;
  double without_ = 0;
};

TEST_F(DraftPolicyTest, ACheapDraftModelIsUsedOnceItsTimeWasMeasured) {
  step(kModelCosts, {});
  EXPECT_LE(drafted_, GuessPolicy::kTries) << "its time is not known yet";
  steps(kModelCosts, {}, 50);
  EXPECT_NEAR(policy_.draft_time(), 80, 1);
  steps(kModelCosts, {}, 500);
  EXPECT_GT(gain(), 1.8);
  EXPECT_GT(all_drafted_, 3 * 500);
}

TEST_F(DraftPolicyTest, FewerGuessesAreDraftedTheDearerTheDraftModelIs) {
  std::vector<std::int32_t> drafted;
  for (const double each : {20.0, 80.0, 250.0}) {
    policy_ = GuessPolicy(64);
    begin(1);
    steps(kModelCosts, {.each = each}, 100);
    steps(kModelCosts, {.each = each}, 400);
    drafted.push_back(all_drafted_);
    EXPECT_GT(gain(), 1.0) << each;
  }
  EXPECT_GT(drafted[0], drafted[1]);
  EXPECT_GT(drafted[1], drafted[2]);
  EXPECT_GT(drafted[2], 0);
}

TEST_F(DraftPolicyTest, ADraftModelAsDearAsTheModelCostsNextToNothing) {
  for (const double each : {1000.0, 3000.0}) {
    policy_ = GuessPolicy(64);
    begin(1);
    steps(kModelCosts, {.each = each, .chance = 1}, 4000);
    EXPECT_GT(gain(), 0.99) << each;
    EXPECT_GT(all_drafted_, 0) << "it is tried";
    EXPECT_LT(all_drafted_, 2000);
  }
}

TEST_F(DraftPolicyTest, WrongDraftsAndReadingCostNoMoreThanWasSetAside) {
  for (const double each : {10.0, 100.0, 1000.0}) {
    policy_ = GuessPolicy(64);
    const DraftShape draft{.each = each, .reading = 200, .reads = 10'000, .chance = 0};
    begin(4, draft);
    unread_[0] = 0;
    steps({.step = 1000, .guess = 10, .rows = 4}, draft, 10'000);
    const double cost = 10'000 / gain() - 10'000;
    const double overdrawn = 4 * (GuessPolicy::kTries * (each + 10) + 200) / 1000;
    EXPECT_LE(cost, 10'000 * GuessPolicy::kSpent + GuessPolicy::kMostCredit +
                        GuessPolicy::kFirstReserve + overdrawn);
    EXPECT_LT(policy_.reserve(), GuessPolicy::kFirstReserve) << "something was read for nothing";
  }
}

TEST_F(DraftPolicyTest, WithoutReserveOnlySequencesThatWereDraftedForGoOn) {
  steps(kModelCosts, {}, 20);
  policy_.note_drafting(kModelCosts, {.reading = Duration(1'000'000)}, 0);
  ASSERT_LT(policy_.reserve(), 0);
  sequences_.emplace_back(10);
  unread_.push_back(0);
  policy_.begin(kModelCosts);
  for (Sequence& one : sequences_) policy_.add(one, kMostDrafted, kMostDrafted);
  const auto choices = policy_.share_out(100);
  EXPECT_GT(choices[0].drafts, 0);
  EXPECT_EQ(choices[1].drafts, 0);
}

TEST_F(DraftPolicyTest, ADisturbanceDoesNotUseUpTheLedger) {
  steps(kModelCosts, {}, 200);
  policy_.note_drafting(kModelCosts, {.drafting = Duration(1'000'000)}, 2);
  EXPECT_LT(policy_.draft_time(), 2 * 80);
  EXPECT_GT(policy_.credit(), GuessPolicy::kMostCredit - 1);
  steps(kModelCosts, {}, 50);
  EXPECT_GT(gain(), 1.5);
}

TEST_F(DraftPolicyTest, WhatGuessesSavePaysForReading) {
  const double before = policy_.reserve();
  steps(kModelCosts, {}, 200);
  EXPECT_GT(policy_.reserve(), before + 50);
  steps(kModelCosts, {}, 1000);
  EXPECT_LE(policy_.reserve(), GuessPolicy::kMostReserve);
}

TEST_F(DraftPolicyTest, WrongDraftsTakeNoGuessesFromLookUps) {
  const DraftShape draft{.chance = 0, .look_ups = 0.5, .looked_up = 0.9};
  steps(kModelCosts, draft, 200);
  steps(kModelCosts, draft, 500);
  EXPECT_LT(all_drafted_, 200);
  EXPECT_GT(gain(), 1.5);
  EXPECT_GT(sequences_[0].guess_record.chance(0), 0.7);
  EXPECT_LT(sequences_[0].draft_record.chance(0), 0.1);
}

TEST_F(DraftPolicyTest, NothingIsDraftedWhereThereIsNoDraftModel) {
  policy_.begin(kModelCosts);
  policy_.add(sequences_[0], kMostDrafted);
  EXPECT_EQ(policy_.share_out(100)[0].drafts, 0);
}

}  // namespace
}  // namespace weft::test
