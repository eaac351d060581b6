#include "weft/gpu/cuda/runtime/rank_groups.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::cuda {
namespace {

/// The groups as "stage 0: 0 1" and the like.
std::vector<std::string> groups_of(const std::vector<std::int32_t>& widths,
                                   const std::vector<bool>& on_host = {}) {
  std::vector<std::string> lines;
  for (const NcclGroup& group : rank_groups(widths, on_host)) {
    const char* kind = group.kind == GroupKind::kStage    ? "stage "
                       : group.kind == GroupKind::kStream ? "stream "
                                                          : "tokens ";
    std::string line = kind + std::to_string(group.stage) + ":";
    for (const std::int32_t rank : group.ranks) line += " " + std::to_string(rank);
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(RankGroups, AreAStageAndItsTokensWhereAllShareTheLayers) {
  EXPECT_EQ(groups_of({2}), (Lines{"stage 0: 0 1", "tokens 0: 0 1"}));
}

TEST(RankGroups, JoinNeighbouringStagesAndTheLastWithTheFirst) {
  EXPECT_EQ(groups_of({1, 1, 1}), (Lines{"stream 0: 0 1", "stream 1: 1 2", "tokens 2: 2 0"}));
  EXPECT_EQ(groups_of({2, 2}),
            (Lines{"stage 0: 0 1", "stage 1: 2 3", "stream 0: 0 1 2 3", "tokens 1: 2 0 1"}));
}

TEST(RankGroups, LeaveOutRanksOnTheHost) {
  EXPECT_EQ(groups_of({1, 1}, {false, true}), Lines{});
  EXPECT_EQ(groups_of({2, 2, 1}, {false, false, true}),
            (Lines{"stage 0: 0 1", "stage 1: 2 3", "stream 0: 0 1 2 3"}));
  EXPECT_EQ(groups_of({1, 2, 1}, {false, true, false}), Lines{"tokens 2: 3 0"});
}

TEST(RankGroups, AreNoneOfOneRank) { EXPECT_TRUE(groups_of({1}).empty()); }

}  // namespace
}  // namespace weft::cuda
