#include "weft/gpu/host/member_choice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>

namespace weft {
namespace {

constexpr double kStep = 10e6;  // nanoseconds of one thread

/// Plays steps whose time depends on the number of members.
class Player {
 public:
  explicit Player(int most) : choice_(most) {}

  /// Plays `steps` steps and returns the time of all; `time` is of one step with so many members.
  double play(int steps, double cost, const std::function<double(int members)>& time) {
    double sum = 0;
    for (int i = 0; i < steps; ++i) {
      const int members = choice_.next(cost);
      ++used_[members];
      const double took = time(members) * noise_(random_);
      sum += took;
      choice_.took(std::chrono::nanoseconds(static_cast<std::int64_t>(took)));
    }
    return sum;
  }

  /// How many steps had so many members since the last call.
  std::map<int, int> take_used() { return std::exchange(used_, {}); }

 private:
  MemberChoice choice_;
  std::map<int, int> used_;
  std::mt19937 random_{7};
  std::uniform_real_distribution<double> noise_{0.98, 1.02};
};

double ideal(int members) { return kStep / members; }

TEST(MemberChoiceTest, UsesAllMembersWhereTheyHelpAndLosesHardlyAnythingToTrials) {
  for (const int most : {2, 16}) {
    Player player(most);
    const double took = player.play(10'000, kStep, ideal);
    EXPECT_LT(took / (10'000 * ideal(most)), 1.01);
  }
}

TEST(MemberChoiceTest, LosesLittleInAShortRunToo) {
  Player player(2);
  EXPECT_LT(player.play(256, kStep, ideal) / (256 * ideal(2)), 1.02);
}

TEST(MemberChoiceTest, GoesDownToTheNumberThatIsFastest) {
  Player player(16);
  // The more members, the longer they take to meet: four are the best.
  const auto time = [](int members) { return kStep / members + 0.04 * kStep * members; };
  player.play(1000, kStep, time);
  player.take_used();
  const double took = player.play(5000, kStep, time);
  EXPECT_LT(took / (5000 * time(4)), 1.02);
  EXPECT_GT(player.take_used()[4], 4750);
}

TEST(MemberChoiceTest, LeavesBusyProcessorsSoonAndComesBackOnceTheyAreFree) {
  Player player(2);
  player.play(2000, kStep, ideal);
  const auto busy = [](int members) { return members == 1 ? 1.1 * kStep : 2 * kStep; };
  const double during = player.play(300, kStep, busy);
  EXPECT_LT(during / (300 * busy(1)), 1.15) << "not longer than with one, but for finding out";
  player.play(300, kStep, ideal);
  player.take_used();
  player.play(100, kStep, ideal);
  EXPECT_GT(player.take_used()[2], 95);
}

TEST(MemberChoiceTest, ChoosesForEachCostOfItsOwn) {
  Player player(4);
  const auto small = [](int members) { return 50'000.0 * members; };
  for (int round = 0; round < 500; ++round) {
    player.play(4, 60'000, small);
    player.play(4, kStep, ideal);
  }
  player.take_used();
  player.play(100, 60'000, small);
  EXPECT_GT(player.take_used()[1], 95);
  player.play(100, kStep, ideal);
  EXPECT_GT(player.take_used()[4], 95);
}

TEST(MemberChoiceTest, NeverWakesAnybodyForAStepOfSomeMicroseconds) {
  Player player(8);
  player.play(500, 20'000, [](int members) { return 20'000.0 / members; });
  EXPECT_EQ(player.take_used(), (std::map<int, int>{{1, 500}}));
}

TEST(MemberChoiceTest, HasNothingToChooseWithOneMember) {
  Player player(1);
  player.play(500, kStep, ideal);
  EXPECT_EQ(player.take_used(), (std::map<int, int>{{1, 500}}));
}

}  // namespace
}  // namespace weft
