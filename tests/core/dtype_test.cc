#include "weft/core/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

namespace weft {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;  // of 32 numbers
  bool is_float;
};

constexpr std::array kAll = {
    Row{DType::kF64, "f64", 256, true},   Row{DType::kF32, "f32", 128, true},
    Row{DType::kF16, "f16", 64, true},    Row{DType::kBF16, "bf16", 64, true},
    Row{DType::kQ8_0, "q8_0", 34, true},  Row{DType::kI64, "i64", 256, false},
    Row{DType::kI32, "i32", 128, false},  Row{DType::kI16, "i16", 64, false},
    Row{DType::kI8, "i8", 32, false},     Row{DType::kU8, "u8", 32, false},
    Row{DType::kBool, "bool", 32, false},
};

TEST(DTypeTest, HasANameASizeAndAKind) {
  std::set<std::string_view> names;
  for (const Row& row : kAll) {
    EXPECT_EQ(to_string(row.dtype), row.name);
    EXPECT_EQ(bytes_of(row.dtype, 32), row.bytes) << row.name;
    EXPECT_EQ(is_float(row.dtype), row.is_float) << row.name;
    EXPECT_EQ(block_of(row.dtype).bytes * (32 / block_of(row.dtype).elements), row.bytes);
    names.insert(row.name);
  }
  EXPECT_EQ(names.size(), kAll.size());
}

TEST(DTypeTest, CountsWholeBlocksOnly) {
  EXPECT_EQ(bytes_of(DType::kQ8_0, 0), 0);
  EXPECT_EQ(bytes_of(DType::kQ8_0, 64), 68);
  EXPECT_EQ(bytes_of(DType::kQ8_0, 1), std::nullopt);
  EXPECT_EQ(bytes_of(DType::kQ8_0, 33), std::nullopt);
}

TEST(DTypeTest, RefusesNumbersThatAreNoCount) {
  EXPECT_EQ(bytes_of(DType::kF32, -1), std::nullopt);
  EXPECT_EQ(bytes_of(DType::kQ8_0, -32), std::nullopt);
  EXPECT_EQ(bytes_of(DType::kU8, INT64_MIN), std::nullopt);
}

TEST(DTypeTest, RefusesSizesThatOverflow) {
  EXPECT_EQ(bytes_of(DType::kU8, INT64_MAX), INT64_MAX);
  EXPECT_EQ(bytes_of(DType::kF16, INT64_MAX / 2), INT64_MAX - 1);
  EXPECT_EQ(bytes_of(DType::kF16, INT64_MAX / 2 + 1), std::nullopt);
  EXPECT_EQ(bytes_of(DType::kQ8_0, INT64_MAX - 31), std::nullopt);
}

}  // namespace
}  // namespace weft
