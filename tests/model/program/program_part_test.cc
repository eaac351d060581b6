#include "weft/model/program/program_part.h"

#include <gtest/gtest.h>

#include <vector>

#include "weft/model/program/keep_part.h"

namespace weft {
namespace {

ProgramPart rank_of(std::int32_t rank, std::int32_t ranks) {
  ProgramPart part;
  part.rank = rank;
  part.ranks = ranks;
  return part;
}

TEST(ShareOf, GivesRunsThatCoverAllAndDifferByAGrain) {
  std::int64_t next = 0;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    const auto run = share_of(320, 32, rank_of(rank, 3));
    ASSERT_TRUE(run);
    EXPECT_EQ(run->first, next);
    EXPECT_GE(run->count, 3 * 32);
    EXPECT_LE(run->count, 4 * 32);
    next = run->end();
  }
  EXPECT_EQ(next, 10 * 32);
}

TEST(ShareOf, IsNothingWhereARankWouldGetNothing) {
  EXPECT_FALSE(share_of(512, 256, rank_of(0, 3)));
  EXPECT_FALSE(share_of(300, 256, rank_of(0, 2)));
  EXPECT_FALSE(share_of(1024, 0, rank_of(0, 2)));
}

TEST(ShareHeads, KeepsQueriesWithTheirKeys) {
  const HeadShape shape{12, 3, 64};
  const auto first = share_heads(shape, 1, rank_of(0, 2));
  const auto second = share_heads(shape, 1, rank_of(1, 2));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->kv_heads, (Extent{0, 1}));
  EXPECT_EQ(first->heads, (Extent{0, 4}));
  EXPECT_EQ(second->kv_heads, (Extent{1, 2}));
  EXPECT_EQ(second->heads, (Extent{4, 8}));
}

TEST(ShareHeads, GivesSeveralRanksTheSameKeysWhereThereAreFewer) {
  const HeadShape shape{12, 2, 64};
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    const auto share = share_heads(shape, 1, rank_of(rank, 4));
    ASSERT_TRUE(share);
    EXPECT_EQ(share->kv_heads, (Extent{rank / 2, 1}));
    EXPECT_EQ(share->heads, (Extent{std::int64_t{rank} * 3, 3}));
  }
  EXPECT_FALSE(share_heads(shape, 1, rank_of(0, 3))) << "no rank may have parts of two";
}

TEST(ShareHeads, CutsBetweenBlocks) {
  const HeadShape shape{8, 8, 64};
  const auto share = share_heads(shape, 256, rank_of(1, 2));
  ASSERT_TRUE(share);
  EXPECT_EQ(share->heads, (Extent{4, 4}));
  EXPECT_FALSE(share_heads(shape, 256, rank_of(0, 4))) << "two blocks for four ranks";
}

MatrixPlan matrix_of(std::int64_t outputs, std::int64_t inputs) {
  MatrixPlan matrix{"m", {}, outputs, inputs, false, {}};
  // Two tensors one behind the other, as queries and keys stand.
  matrix.parts.push_back({nullptr, 0, outputs / 2, inputs, inputs, 1, 0});
  matrix.parts.push_back({nullptr, 100, outputs / 2, inputs, inputs, 1, outputs / 2});
  return matrix;
}

TEST(KeepPart, LeavesRunsOfOutputsAcrossTensors) {
  MatrixPlan matrix = matrix_of(8, 10);
  keep_part(matrix, {{{2, 4}}, {}, true});
  EXPECT_EQ(matrix.outputs, 4);
  ASSERT_EQ(matrix.parts.size(), 2U);
  EXPECT_EQ(matrix.parts[0].offset, 20);
  EXPECT_EQ(matrix.parts[0].outputs, 2);
  EXPECT_EQ(matrix.parts[0].first_output, 0);
  EXPECT_EQ(matrix.parts[1].offset, 100);
  EXPECT_EQ(matrix.parts[1].outputs, 2);
  EXPECT_EQ(matrix.parts[1].first_output, 2);
}

TEST(KeepPart, LeavesTheSameOutputsOfGateAndUp) {
  MatrixPlan matrix = matrix_of(8, 10);
  matrix.gated = true;
  matrix.outputs = 4;  // and as many of up behind them
  keep_part(matrix, {{{1, 2}}, {}, true});
  EXPECT_EQ(matrix.outputs, 2);
  ASSERT_EQ(matrix.parts.size(), 2U);
  EXPECT_EQ(matrix.parts[0].offset, 10);
  EXPECT_EQ(matrix.parts[1].offset, 110);
  EXPECT_EQ(matrix.parts[1].first_output, 2);
}

TEST(KeepPart, LeavesARunOfInputs) {
  MatrixPlan matrix = matrix_of(8, 10);
  keep_part(matrix, {{}, Extent{4, 6}, true});
  EXPECT_EQ(matrix.inputs, 6);
  EXPECT_EQ(matrix.parts[1].offset, 104);
  EXPECT_EQ(matrix.parts[1].inputs, 6);
  EXPECT_EQ(matrix.parts[1].stride_output, 10);
}

TEST(KeepNumbers, LeavesRunsOfTensorsAndOfValues) {
  VectorPlan vector{"v", 6, {{nullptr, 10, 6, 2, 0}}, {}};
  const std::vector<Extent> kept = {{4, 2}, {0, 1}};
  keep_numbers(vector, kept);
  EXPECT_EQ(vector.size, 3);
  ASSERT_EQ(vector.parts.size(), 2U);
  EXPECT_EQ(vector.parts[0].offset, 18);
  EXPECT_EQ(vector.parts[0].first, 0);
  EXPECT_EQ(vector.parts[1].offset, 10);
  EXPECT_EQ(vector.parts[1].first, 2);
  VectorPlan computed{"c", 4, {}, {1, 2, 3, 4}};
  const std::vector<Extent> middle = {{1, 2}};
  keep_numbers(computed, middle);
  EXPECT_EQ(computed.values, (std::vector<float>{2, 3}));
}

}  // namespace
}  // namespace weft
