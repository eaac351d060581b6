#include "weft/kernels/linear/linear_table_cuda.h"

#include <gtest/gtest.h>

#include <optional>

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
  EXPECT_EQ(table.measured(with_tokens(8)), std::nullopt);
  EXPECT_EQ(table.measured(with_tokens(9)), LinearWay::kVector);
  EXPECT_EQ(table.measured(with_tokens(16)), LinearWay::kVector);
  EXPECT_EQ(table.measured(with_tokens(17)), std::nullopt);
}

TEST(CudaLinearTable, HasADefaultWayForEachTypeOfWeights) {
  const auto way = [](DType dtype, std::int64_t tokens) {
    return CudaLinearTable::default_way(dtype, tokens);
  };
  EXPECT_EQ(way(DType::kBF16, 32), LinearWay::kFlat);
  EXPECT_EQ(way(DType::kF16, 33), LinearWay::kLibrary);
  EXPECT_EQ(way(DType::kF32, 4096), LinearWay::kVector);
  EXPECT_EQ(way(DType::kQ8_0, 8), LinearWay::kVector);
  EXPECT_EQ(way(DType::kQ8_0, 9), LinearWay::kDecoded);
  EXPECT_EQ(way(DType::kQ4_0, 4), LinearWay::kVector);
  EXPECT_EQ(way(DType::kQ4_0, 5), LinearWay::kDecoded);
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
  CudaLinearTable encoded;
  EXPECT_EQ(encoded.read_line("q4_k 4096 4096 8 codes"), "");
  EXPECT_EQ(encoded.read_line("i4_128 4096 4096 256 decoded"), "");
  EXPECT_EQ(encoded.measured({.dtype = DType::kQ4_K, .rows = 4096, .inputs = 4096, .tokens = 8}),
            LinearWay::kCodes);
}

TEST(CudaLinearTable, KeepsTheWaysToAvoid) {
  CudaLinearTable table;
  table.set(kShape, LinearWay::kLibrary);
  EXPECT_EQ(table.read_line("avoid codes"), "");
  EXPECT_EQ(table.read_line("avoid flat"), "");
  for (const LinearWayRow& row : kLinearWays) {
    EXPECT_EQ(table.avoids(row.way), row.way == LinearWay::kCodes || row.way == LinearWay::kFlat)
        << row.name;
  }
  EXPECT_EQ(table.print(), "avoid flat\navoid codes\nbf16 12288 4096 16 library\n");
}

TEST(CudaLinearTable, SaysWhatIsWrongWithALine) {
  CudaLinearTable table;
  EXPECT_EQ(table.read_line("i8 1 1 1 flat"), "a dtype that no way multiplies");
  EXPECT_EQ(table.read_line("bf16 0 1 1 flat"), "rows and inputs are positive numbers");
  EXPECT_EQ(table.read_line("bf16 1 1x 1 flat"), "rows and inputs are positive numbers");
  EXPECT_EQ(table.read_line("bf16 1"), "rows and inputs are positive numbers");
  EXPECT_EQ(table.read_line("bf16 1 1 3 flat"), "tokens are a power of two");
  EXPECT_EQ(table.read_line("bf16 1 1 1 fast"), "a way that there is not");
  EXPECT_EQ(table.read_line("bf16 1 1 1 experts"), "a way that there is not");
  EXPECT_EQ(table.read_line("f8_128 128 128 32 rounded"), "a way that there is not")
      << "a setting chooses it";
  EXPECT_EQ(table.read_line("bf16 1 1 1 flat flat"), "more words than an entry has");
  EXPECT_EQ(table.read_line("avoid"), "a way that there is not");
  EXPECT_EQ(table.read_line("avoid experts"), "a way that there is not");
  EXPECT_EQ(table.read_line("avoid vector"), "the way that computes what no other can");
  EXPECT_EQ(table.read_line("avoid flat codes"), "more words than an entry has");
  EXPECT_EQ(table.print(), "");
}

}  // namespace
}  // namespace weft::cuda
