#include "weft/model/program/op_work.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "weft/model/checkpoint/checkpoint.h"

namespace weft {
namespace {

class OpWorkTest : public testing::Test {
 protected:
  OpWorkTest() {
    program_.buffers = {{.name = "x", .width = 64}};
    program_.vectors.resize(2);
    program_.vectors[0].size = std::int64_t{10} * 64;  // positions
    program_.vectors[1].size = std::int64_t{2} * 64;   // types
    program_.self_kv = {{.kv_heads = 1, .head_size = 16}, {.kv_heads = 2, .head_size = 32}};
    program_.cross_kv = {{.kv_heads = 4, .head_size = 8}};
  }

  Program program_;
};

TEST_F(OpWorkTest, AnEmbeddingReadsOneRowOfItsTableAndOfItsPositionsForAToken) {
  CheckpointTensor table;
  table.dtype = DType::kBF16;
  EmbedOp embed;
  embed.table.tensor = &table;
  embed.constant = 1;
  embed.out = 0;
  EXPECT_EQ(work_of(program_, embed).table_bytes, 64 * 2);
  embed.positions = 0;
  EXPECT_EQ(work_of(program_, embed).table_bytes, 64 * 2 + 64 * 4);
  EXPECT_EQ(work_of(program_, embed).vector_bytes, 2 * 64 * 4);
  embed.table.tensor = nullptr;
  EXPECT_EQ(work_of(program_, embed).table_bytes, 64 * 4);
}

TEST_F(OpWorkTest, AttentionNamesTheKeysOfItsLayerInItsCache) {
  AttentionOp attention;
  attention.out = 0;
  attention.layer = 1;
  EXPECT_EQ(work_of(program_, attention).kv.kv_heads, 2);
  attention.group = KvGroup::kCross;
  attention.layer = 0;
  EXPECT_EQ(work_of(program_, attention).kv.head_size, 8);
  EXPECT_EQ(work_of(program_, attention).key_products, 2 * 64);
}

TEST_F(OpWorkTest, AttentionSeesTheKeysOfItsWindowOrChunk) {
  AttentionOp attention;
  attention.out = 0;
  EXPECT_EQ(work_of(program_, attention).first_key(20), 0);
  attention.spec.window = 16;
  EXPECT_EQ(work_of(program_, attention).first_key(15), 0);
  EXPECT_EQ(work_of(program_, attention).first_key(20), 5);
  attention.spec.chunk = 8;
  EXPECT_EQ(work_of(program_, attention).first_key(20), 16);
}

TEST_F(OpWorkTest, ARouterTellsAmongHowManyExpertsItChooses) {
  RouteOp route;
  route.scores = 0;
  route.experts = 8;
  EXPECT_EQ(work_of(program_, route).routed, 8);
  EXPECT_EQ(work_of(program_, ScaleRowsOp{0, 0, kAbsent, 0}).routed, 0);
}

}  // namespace
}  // namespace weft
