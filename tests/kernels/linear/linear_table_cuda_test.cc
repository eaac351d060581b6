#include "weft/kernels/linear/linear_table_cuda.h"

#include <gtest/gtest.h>

namespace weft::cuda {
namespace {

constexpr LinearShape kShape{.dtype = DType::kBF16, .rows = 12288, .inputs = 4096, .tokens = 16};

LinearShape with_tokens(std::int64_t tokens) {
  LinearShape shape = kShape;
  shape.tokens = tokens;
  return shape;
}

TEST(CudaLinearTable, AnswersForAllTokenCountsOfABucket) {
  CudaLinearTable table;
  table.set(kShape, LinearWay::kVector);
  const auto usual = [](std::int64_t tokens) {
    return CudaLinearTable::default_way(kShape.dtype, tokens);
  };
  EXPECT_EQ(table.choose(with_tokens(8)), usual(8));
  EXPECT_EQ(table.choose(with_tokens(9)), LinearWay::kVector);
  EXPECT_EQ(table.choose(with_tokens(16)), LinearWay::kVector);
  EXPECT_EQ(table.choose(with_tokens(17)), usual(17));
}

TEST(CudaLinearTable, TakesTheDefaultWayForAShapeThatWasNotMeasured) {
  const CudaLinearTable table;
  EXPECT_EQ(table.choose(with_tokens(1)), LinearWay::kFlat);
  EXPECT_EQ(table.choose(with_tokens(4096)), LinearWay::kLibrary);
  LinearShape shape = kShape;
  for (const DType dtype : {DType::kF32, DType::kQ8_0}) {
    shape.dtype = dtype;
    EXPECT_EQ(table.choose(shape), LinearWay::kVector);
  }
}

TEST(CudaLinearTable, ReadsWhatItPrints) {
  CudaLinearTable table;
  table.set(kShape, LinearWay::kLibrary);
  table.set({.dtype = DType::kF16, .rows = 100, .inputs = 72, .tokens = 1}, LinearWay::kFlat);
  EXPECT_EQ(table.print(), "f16 100 72 1 flat\nbf16 12288 4096 16 library\n");
  CudaLinearTable again;
  EXPECT_EQ(again.read_line("bf16 12288\t4096 16 library \r"), "");
  EXPECT_EQ(again.read_line("  f16 100 72 1 flat"), "");
  EXPECT_EQ(again.print(), table.print());
}

TEST(CudaLinearTable, SaysWhatIsWrongWithALine) {
  CudaLinearTable table;
  EXPECT_EQ(table.read_line("i8 1 1 1 flat"), "a dtype that no way multiplies");
  EXPECT_EQ(table.read_line("bf16 0 1 1 flat"), "rows and inputs are positive numbers");
  EXPECT_EQ(table.read_line("bf16 1 1x 1 flat"), "rows and inputs are positive numbers");
  EXPECT_EQ(table.read_line("bf16 1"), "rows and inputs are positive numbers");
  EXPECT_EQ(table.read_line("bf16 1 1 3 flat"), "tokens are a power of two");
  EXPECT_EQ(table.read_line("bf16 1 1 1 fast"), "a way that there is not");
  EXPECT_EQ(table.read_line("bf16 1 1 1 flat flat"), "more words than an entry has");
  EXPECT_EQ(table.print(), "");
}

}  // namespace
}  // namespace weft::cuda
