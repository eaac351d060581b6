#include "weft/schedule/rows/row_shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Costs = std::vector<std::int64_t>;

struct Shuffle {
  RowRegion region;
  std::vector<PlanMove> moves;

  explicit Shuffle(const Costs& costs) { region = shuffle_rows(costs, moves); }

  [[nodiscard]] std::int64_t cost(const Costs& costs) const {
    std::int64_t sum = 0;
    for (const PlanMove& move : moves) sum += costs[static_cast<std::size_t>(move.from)];
    return sum;
  }
};

Costs equal_costs(unsigned pattern, int rows) {
  Costs costs(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < costs.size(); ++row) costs[row] = (pattern >> row) & 1U;
  return costs;
}

std::string text_of(const Costs& costs) { return ::testing::PrintToString(costs); }

/// Whether the rows of a set lie within `length` consecutive rows.
bool fit_within(unsigned rows, int length) {
  return rows == 0 || static_cast<int>(std::bit_width(rows)) - std::countr_zero(rows) <= length;
}

/// The least cost by brute force, and how few moves reach it: every set of running rows is tried as
/// those that stay; whoever does not stay moves at least once, in whatever order and by whatever
/// way. The rows that stay need to lie within as many rows as run.
struct Least {
  std::int64_t cost = std::numeric_limits<std::int64_t>::max();
  int moves = 0;

  explicit Least(const Costs& costs) {
    unsigned running = 0;
    for (std::size_t row = 0; row < costs.size(); ++row) {
      running |= costs[row] != 0 ? 1U << row : 0U;
    }
    for (unsigned moved = running;; moved = (moved - 1) & running) {
      if (fit_within(running & ~moved, std::popcount(running))) take(moved, costs);
      if (moved == 0) break;
    }
  }

 private:
  void take(unsigned moved, const Costs& costs) {
    std::int64_t sum = 0;
    for (unsigned rest = moved; rest != 0; rest &= rest - 1) {
      sum += costs[static_cast<std::size_t>(std::countr_zero(rest))];
    }
    if (sum < cost || (sum == cost && std::popcount(moved) < moves)) {
      cost = sum;
      moves = std::popcount(moved);
    }
  }
};

void expect_least(const Costs& costs) {
  const Shuffle shuffle(costs);
  const Least least(costs);
  ASSERT_EQ(shuffle.cost(costs), least.cost) << text_of(costs);
  ASSERT_EQ(static_cast<int>(shuffle.moves.size()), least.moves) << text_of(costs);
}

Costs random_costs(std::mt19937& random, unsigned pattern, int rows, unsigned most) {
  Costs costs = equal_costs(pattern, rows);
  for (auto& cost : costs) cost *= 1 + static_cast<std::int64_t>(random() % most);
  return costs;
}

TEST(RowShuffle, IsTheLeastForAllPatternsOfSixteenRowsWithEqualCosts) {
  for (unsigned pattern = 0; pattern < (1U << 16U); ++pattern) {
    ASSERT_NO_FATAL_FAILURE(expect_least(equal_costs(pattern, 16)));
  }
}

TEST(RowShuffle, IsTheLeastForAllPatternsOfFewerRowsWithEqualCosts) {
  for (int rows = 0; rows < 16; ++rows) {
    for (unsigned pattern = 0; pattern < (1U << rows); ++pattern) {
      ASSERT_NO_FATAL_FAILURE(expect_least(equal_costs(pattern, rows)));
    }
  }
}

TEST(RowShuffle, IsTheLeastForAllPatternsOfTwelveRowsWithRandomCosts) {
  std::mt19937 random(20260101);
  for (int rows = 1; rows <= 12; ++rows) {
    for (unsigned pattern = 0; pattern < (1U << rows); ++pattern) {
      // Small costs, so that sums tie, and large ones.
      for (const unsigned most : {2U, 5U, 1000000000U}) {
        ASSERT_NO_FATAL_FAILURE(expect_least(random_costs(random, pattern, rows, most)));
      }
    }
  }
}

TEST(RowShuffle, IsTheLeastForSampledPatternsOfSixteenRowsWithRandomCosts) {
  std::mt19937 random(16);
  for (int sample = 0; sample < 4000; ++sample) {
    const auto pattern = static_cast<unsigned>(random() & 0xffffU);
    ASSERT_NO_FATAL_FAILURE(expect_least(random_costs(random, pattern, 16, 100)));
  }
}

/// Carries out the moves and compares who runs where.
void expect_contiguous_and_nobody_lost(const Costs& costs) {
  const Shuffle shuffle(costs);
  std::vector<int> content(costs.size(), -1);
  std::vector<int> before;
  for (std::size_t row = 0; row < costs.size(); ++row) {
    if (costs[row] != 0) before.push_back(content[row] = static_cast<int>(row));
  }
  for (const PlanMove& move : shuffle.moves) {
    std::swap(content.at(static_cast<std::size_t>(move.from)),
              content.at(static_cast<std::size_t>(move.to)));
  }
  const auto begin = content.begin() + shuffle.region.first;
  std::vector<int> after(begin, begin + shuffle.region.count);
  std::ranges::sort(after);
  ASSERT_EQ(after, before) << text_of(costs);
}

TEST(RowShuffle, LeavesTheRunningRowsContiguousAndLosesNobody) {
  for (unsigned pattern = 0; pattern < (1U << 16U); ++pattern) {
    ASSERT_NO_FATAL_FAILURE(expect_contiguous_and_nobody_lost(equal_costs(pattern, 16)));
  }
  std::mt19937 random(7);
  for (int sample = 0; sample < 500; ++sample) {
    Costs costs(random() % 300);
    for (auto& cost : costs) cost = random() % 3 == 0 ? 0 : 1 + static_cast<int>(random() % 1000);
    ASSERT_NO_FATAL_FAILURE(expect_contiguous_and_nobody_lost(costs));
  }
}

void expect_moves_from_outside_to_holes(const Costs& costs) {
  const Shuffle shuffle(costs);
  const auto inside = [&](std::int32_t row) {
    return row >= shuffle.region.first && row < shuffle.region.first + shuffle.region.count;
  };
  std::vector<int> uses(costs.size());
  for (const PlanMove& move : shuffle.moves) {
    ASSERT_TRUE(!inside(move.from) && inside(move.to)) << text_of(costs);
    ASSERT_NE(costs.at(static_cast<std::size_t>(move.from)), 0) << text_of(costs);
    ASSERT_EQ(costs.at(static_cast<std::size_t>(move.to)), 0) << text_of(costs);
    ++uses[static_cast<std::size_t>(move.from)];
    ++uses[static_cast<std::size_t>(move.to)];
  }
  ASSERT_TRUE(std::ranges::all_of(uses, [](int count) { return count <= 1; })) << text_of(costs);
}

TEST(RowShuffle, MovesOnlyFromOutsideOfTheRegionToItsHolesAndNoRowTwice) {
  for (unsigned pattern = 0; pattern < (1U << 16U); ++pattern) {
    ASSERT_NO_FATAL_FAILURE(expect_moves_from_outside_to_holes(equal_costs(pattern, 16)));
  }
}

TEST(RowShuffle, MovesNothingWhereTheRowsAreContiguous) {
  EXPECT_THAT(Shuffle({}).moves, IsEmpty());
  EXPECT_EQ(Shuffle({}).region, (RowRegion{0, 0}));
  EXPECT_EQ(Shuffle({0, 0, 0}).region, (RowRegion{0, 0}));
  EXPECT_THAT(Shuffle({0, 4, 9, 1, 0}).moves, IsEmpty());
  EXPECT_EQ(Shuffle({0, 4, 9, 1, 0}).region, (RowRegion{1, 3}));
  EXPECT_EQ(Shuffle({5, 5, 5}).region, (RowRegion{0, 3}));
}

TEST(RowShuffle, AppendsToTheMovesThatAreThere) {
  std::vector<PlanMove> moves = {{8, 9}};
  EXPECT_EQ(shuffle_rows(Costs{1, 0, 1}, moves), (RowRegion{0, 2}));
  EXPECT_THAT(moves, ElementsAre(PlanMove{8, 9}, PlanMove{2, 1}));
}

TEST(RowShuffle, LooksAtTheFirstWindow) {
  EXPECT_THAT(Shuffle({9, 9, 0, 0, 1}).moves, ElementsAre(PlanMove{4, 2}));
}

TEST(RowShuffle, MovesManyCheapRowsRatherThanOneDearOne) {
  EXPECT_THAT(Shuffle({9, 0, 0, 2, 2}).moves, ElementsAre(PlanMove{3, 1}, PlanMove{4, 2}));
}

TEST(RowShuffle, OfEqualCostsTakesFewestMoves) {
  // Staying costs 2 either way: two rows of 1 from the left, or one row of 2 from the right.
  EXPECT_THAT(Shuffle({1, 1, 0, 0, 2}).moves, ElementsAre(PlanMove{4, 2}));
  EXPECT_THAT(Shuffle({2, 0, 0, 1, 1}).moves, ElementsAre(PlanMove{0, 2}));
}

TEST(RowShuffle, OfEqualCostsAndMovesTakesTheRegionNearestToRowZero) {
  EXPECT_EQ(Shuffle({1, 0, 1}).region, (RowRegion{0, 2}));
  EXPECT_EQ(Shuffle({0, 1, 0, 1, 0, 1, 0}).region, (RowRegion{1, 3}));
}

TEST(RowShuffleDeathTest, KnowsCostsThatDoNotAddUp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<PlanMove> moves;
  const Costs too_much = {kMost, 1};
  const Costs negative = {1, -1};
  WEFT_EXPECT_BUG(shuffle_rows(too_much, moves), "do not add up");
  WEFT_EXPECT_BUG(shuffle_rows(negative, moves), "do not add up");
}

}  // namespace
}  // namespace weft
