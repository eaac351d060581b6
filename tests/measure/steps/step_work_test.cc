#include "weft/measure/steps/step_work.h"

#include <gtest/gtest.h>

#include <cmath>
#include <variant>

#include "weft/model/random_llama.h"

namespace weft::measure {
namespace {

class StepWorkTest : public testing::Test {
 protected:
  StepWorkTest() : program_(*llama_.program()) {}

  /// Returns the bytes that a longer context adds to a step of one sequence.
  [[nodiscard]] double added(std::int32_t from, std::int32_t to,
                             DType kv_dtype = DType::kBF16) const {
    return decode_work(program_, kv_dtype, 1, to).bytes -
           decode_work(program_, kv_dtype, 1, from).bytes;
  }

  template <class Op, class Change>
  void change(Change&& change) {
    for (auto& op : program_.decode.ops) {
      if (auto* one = std::get_if<Op>(&op)) change(*one);
    }
  }

  RandomLlama llama_{LlamaShape{}, 1};  // owns the data that the program points into
  Program program_;
};

TEST_F(StepWorkTest, ReadsTheKeysAndValuesOfEveryTokenOfTheContext) {
  EXPECT_EQ(added(10, 30), 20.0 * static_cast<double>(program_.kv_bytes_per_token(DType::kBF16)));
  EXPECT_EQ(added(10, 30, DType::kI8),
            20.0 * static_cast<double>(program_.kv_bytes_per_token(DType::kI8)));
}

TEST_F(StepWorkTest, ReadsNoMoreThanAWindowOfIt) {
  change<AttentionOp>([](AttentionOp& op) { op.spec.window = 16; });
  EXPECT_EQ(added(16, 30), 0);
  EXPECT_EQ(added(10, 30), 6.0 * static_cast<double>(program_.kv_bytes_per_token(DType::kBF16)));
}

TEST_F(StepWorkTest, ReadsNoMoreThanTheChunkThatATokenIsIn) {
  change<AttentionOp>([](AttentionOp& op) { op.spec.chunk = 16; });
  EXPECT_EQ(added(1, 17), 0);
  EXPECT_EQ(added(17, 19), 2.0 * static_cast<double>(program_.kv_bytes_per_token(DType::kBF16)));
}

TEST_F(StepWorkTest, ReadsTheExpertsThatEvenChoicesHit) {
  // There are eight experts of one matrix each, of which a token has two.
  MatrixPlan matrix;
  matrix.dtype = DType::kBF16;
  matrix.outputs = 32;
  matrix.inputs = 64;
  const StepWork without = decode_work(program_, DType::kBF16, 1, 8);
  const StepWork five_without = decode_work(program_, DType::kBF16, 5, 8);
  ExpertLinearOp experts;
  experts.out = static_cast<BufferId>(program_.buffers.size());
  program_.buffers.push_back({"e", RowKind::kChoices, 32, 2, 0});
  for (int i = 0; i < 8; ++i) {
    experts.weights.push_back(static_cast<MatrixId>(program_.matrices.size()));
    program_.matrices.push_back(matrix);
  }
  RouteOp route;
  route.scores = 0;
  route.experts = 8;
  route.spec.chosen = 2;
  program_.decode.ops.emplace_back(route);
  program_.decode.ops.emplace_back(experts);
  const StepWork one = decode_work(program_, DType::kBF16, 1, 8);
  EXPECT_DOUBLE_EQ(one.bytes - without.bytes, 2 * 32 * 64 * 2);
  EXPECT_DOUBLE_EQ(one.operations - without.operations, 2 * 2 * 32 * 64);
  const StepWork five = decode_work(program_, DType::kBF16, 5, 8);
  EXPECT_NEAR(five.bytes - five_without.bytes, 8 * (1 - std::pow(0.75, 5)) * 32 * 64 * 2, 1e-6);
  EXPECT_DOUBLE_EQ(five.operations - five_without.operations, 5 * 2 * 2 * 32 * 64);
}

}  // namespace
}  // namespace weft::measure
