#include "weft/schedule/step/guess_policy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "weft/schedule/sequence/sequence.h"

namespace weft::test {
namespace {

constexpr std::int32_t kMost = 8;
constexpr GuessCosts kCheap{.step = 100, .guess = 1, .rows = 1};
constexpr GuessCosts kDear{.step = 100, .guess = 100, .rows = 1};

/// Sequences whose guesses are right with a given probability, and what they cost.
class GuessPolicyTest : public testing::Test {
 protected:
  GuessPolicyTest() : policy_(64) { begin({0}); }

  /// Sequences begin of which nothing is known.
  void begin(std::vector<double> chances) {
    chances_ = std::move(chances);
    sequences_.clear();
    while (sequences_.size() < chances_.size()) sequences_.emplace_back(10);
  }
  /// Plans a step and tells its result.
  void step(const GuessCosts& costs, std::int32_t room = 1000) {
    made_ = right_ = 0;
    const GuessCosts charged = policy_.begin(costs);
    for (Sequence& one : sequences_) policy_.add(one, kMost);
    const std::span<const GuessPolicy::Choice> choices = policy_.share_out(room);
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      const std::int32_t made = choices[i].guesses;
      std::int32_t right = 0;
      while (right < made && uniform_(random_) < chances_[i]) ++right;
      policy_.note(charged, made, right);
      policy_.learn(sequences_[i], made, right);
      sequences_[i].progress.learn(1 + right);
      made_ += made;
      right_ += right;
    }
    time_ += costs.step + made_ * costs.guess;
    without_ += costs.step * (costs.rows + right_) / costs.rows;
  }
  void steps(const GuessCosts& costs, int count) {
    for (int i = 0; i < count; ++i) step(costs);
  }
  /// Returns the tokens for a time, of those without guesses, of the steps that follow.
  double gain(const GuessCosts& costs, int count) {
    time_ = without_ = 0;
    steps(costs, count);
    return without_ / time_;
  }

  GuessPolicy policy_;
  std::vector<Sequence> sequences_;
  std::vector<double> chances_;
  std::mt19937_64 random_{1};
  std::uniform_real_distribution<double> uniform_;
  std::int32_t made_ = 0;   // in the newest step
  std::int32_t right_ = 0;  // of these
  double time_ = 0;
  double without_ = 0;  // time that the same tokens take without guesses
};

TEST_F(GuessPolicyTest, CheapGuessesThatAreRightAreMadeAsLongAsTheyMay) {
  chances_ = {0.97};
  steps(kCheap, 50);
  EXPECT_EQ(made_, kMost);
  EXPECT_GT(gain(kCheap, 200), 4);
}

TEST_F(GuessPolicyTest, AGuessThatCostsAStepIsNotMadeHoweverOftenItIsRight) {
  chances_ = {0.97};
  steps(kDear, 50);
  int guessed = 0;
  for (int i = 0; i < 1000; ++i) {
    step(kDear);
    guessed += made_;
  }
  EXPECT_LT(guessed, 400) << "tries alone, most of which are right";
}

TEST_F(GuessPolicyTest, FewerGuessesAreMadeTheLessProbableAndTheDearerTheyAre) {
  std::vector<std::int32_t> made;
  for (const double chance : {0.95, 0.8, 0.6}) {
    policy_ = GuessPolicy(64);
    begin({chance});
    std::int32_t sum = 0;
    steps({.step = 100, .guess = 20, .rows = 1}, 100);
    for (int i = 0; i < 400; ++i) {
      step({.step = 100, .guess = 20, .rows = 1});
      sum += made_;
    }
    made.push_back(sum);
  }
  EXPECT_GT(made[0], made[1]);
  EXPECT_GT(made[1], made[2]);
  EXPECT_GT(made[2], 0);
}

TEST_F(GuessPolicyTest, GuessesThatAreNeverRightEndAfterAFewTries) {
  std::int32_t made = 0;
  for (int i = 0; i < 20; ++i) {
    step(kCheap);
    made += made_;
  }
  EXPECT_LE(made, 40);
  made = 0;
  for (int i = 0; i < 320; ++i) {
    step({.step = 100, .guess = 40, .rows = 1});
    made += made_;
  }
  EXPECT_LE(made, 320 / GuessRecord::kLongestRest * GuessPolicy::kTries);
  EXPECT_GT(made, 0) << "it is tried again";
}

TEST_F(GuessPolicyTest, GuessesThatAreRightAgainAreFound) {
  const GuessCosts costs{.step = 100, .guess = 10, .rows = 1};
  steps(costs, 1000);
  chances_ = {0.95};
  int waited = 0;
  while (made_ < 4 && waited < 1000) {
    step(costs);
    ++waited;
  }
  EXPECT_LT(waited, 2 * GuessRecord::kLongestRest);
  EXPECT_GT(gain(costs, 200), 1.5);
}

TEST_F(GuessPolicyTest, WrongGuessesCostNoMoreThanWasSetAside) {
  for (const double guess : {1.0, 40.0, 100.0, 400.0}) {
    policy_ = GuessPolicy(64);
    begin(std::vector<double>(8, 0));
    const GuessCosts costs{.step = 100, .guess = guess, .rows = 8};
    const double cost = 10'000 / gain(costs, 10'000) - 10'000;
    const double overdrawn = 8 * GuessPolicy::kTries * guess / costs.step;
    EXPECT_LE(cost, 10'000 * GuessPolicy::kSpent + GuessPolicy::kMostCredit + overdrawn);
  }
}

TEST_F(GuessPolicyTest, GuessesCostWhatTheyCostInTheStepThatMadeThem) {
  const GuessCosts many = policy_.begin({.step = 6500, .guess = 20, .rows = 65});
  policy_.begin({.step = 100, .guess = 20, .rows = 1});
  const double before = policy_.credit();
  policy_.note(many, 512, 0);
  EXPECT_DOUBLE_EQ(before - policy_.credit(), 512 * 20.0 / 6500);
}

TEST_F(GuessPolicyTest, SequencesOfWhichSomeAreRightCostNothingByTheOthers) {
  begin({0.9, 0, 0, 0.1, 0, 0.9, 0, 0});
  EXPECT_GT(gain({.step = 100, .guess = 4, .rows = 8}, 2000), 1.2);
  policy_.begin({.step = 100, .guess = 4, .rows = 8});
  for (Sequence& one : sequences_) policy_.add(one, kMost);
  const auto choices = policy_.share_out(100);
  EXPECT_GT(choices[0].guesses, GuessPolicy::kTries);
  EXPECT_LE(choices[1].guesses, GuessPolicy::kTries);
}

TEST_F(GuessPolicyTest, WithoutRoomForAllThoseOfTheMostProbableSequencesStay) {
  begin({0.3, 0.95, 0.3});
  const GuessCosts costs{.step = 100, .guess = 0.5, .rows = 3};
  steps(costs, 100);
  policy_.begin(costs);
  for (Sequence& one : sequences_) policy_.add(one, kMost);
  const auto choices = policy_.share_out(6);
  EXPECT_GE(choices[1].guesses, 4);
  EXPECT_LE(choices[0].guesses + choices[1].guesses + choices[2].guesses, 6);
}

TEST_F(GuessPolicyTest, WhereNoTimeIsKnownAllGuessesAreMade) {
  steps({.step = 0, .guess = 0, .rows = 1}, 100);
  EXPECT_EQ(made_, kMost);
}

TEST_F(GuessPolicyTest, ASequenceIsExpectedToBeLikeThoseBefore) {
  const GuessCosts costs{.step = 100, .guess = 30, .rows = 1};
  chances_ = {0.95};
  steps(costs, 100);
  begin({0.95});
  step(costs);
  EXPECT_GT(made_, GuessPolicy::kTries);
  chances_ = {0};
  steps(costs, 100);
  begin({0});
  step(costs);
  EXPECT_LE(made_, GuessPolicy::kTries);
}

TEST(GuessRecord, NewerResultsCountMore) {
  GuessRecord record;
  EXPECT_DOUBLE_EQ(record.chance(0.5), 0.5);
  for (int i = 0; i < 20; ++i) record.learn(4, 4, i);
  EXPECT_GT(record.chance(0.5), 0.9);
  for (int i = 0; i < 20; ++i) record.learn(4, 0, i);
  EXPECT_LT(record.chance(0.5), 0.2);
  record.learn(0, 0, 100);
  EXPECT_LT(record.chance(0.5), 0.2) << "nothing was guessed";
}

TEST(GuessRecord, RestsLongerTheMoreTriesAreWrong) {
  GuessRecord record;
  EXPECT_FALSE(record.rests(0));
  std::vector<std::int32_t> rests;
  std::int32_t known = 10;
  for (int i = 0; i < 8; ++i) {
    record.learn(2, 0, known);
    const std::int32_t from = known;
    while (record.rests(known)) ++known;
    rests.push_back(known - from);
  }
  EXPECT_EQ(rests, (std::vector<std::int32_t>{1, 2, 4, 8, 16, 32, 32, 32}));
  record.learn(2, 1, known);
  EXPECT_FALSE(record.rests(known));
}

}  // namespace
}  // namespace weft::test
