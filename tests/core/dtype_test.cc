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
  std::int64_t bytes;  // bytes of 256 numbers
  bool is_float;
};

constexpr std::array kAll = {
    Row{DType::kF64, "f64", 2048, true},         Row{DType::kF32, "f32", 1024, true},
    Row{DType::kF16, "f16", 512, true},          Row{DType::kBF16, "bf16", 512, true},
    Row{DType::kQ8_0, "q8_0", 272, true},        Row{DType::kQ4_0, "q4_0", 144, true},
    Row{DType::kQ4_1, "q4_1", 160, true},        Row{DType::kQ5_0, "q5_0", 176, true},
    Row{DType::kQ5_1, "q5_1", 192, true},        Row{DType::kQ2_K, "q2_k", 84, true},
    Row{DType::kQ3_K, "q3_k", 110, true},        Row{DType::kQ4_K, "q4_k", 144, true},
    Row{DType::kQ5_K, "q5_k", 176, true},        Row{DType::kQ6_K, "q6_k", 210, true},
    Row{DType::kIQ1_S, "iq1_s", 50, true},       Row{DType::kIQ1_M, "iq1_m", 56, true},
    Row{DType::kIQ2_XXS, "iq2_xxs", 66, true},   Row{DType::kIQ2_XS, "iq2_xs", 74, true},
    Row{DType::kIQ2_S, "iq2_s", 82, true},       Row{DType::kIQ3_XXS, "iq3_xxs", 98, true},
    Row{DType::kIQ3_S, "iq3_s", 110, true},      Row{DType::kIQ4_NL, "iq4_nl", 144, true},
    Row{DType::kIQ4_XS, "iq4_xs", 136, true},    Row{DType::kTQ1_0, "tq1_0", 54, true},
    Row{DType::kTQ2_0, "tq2_0", 66, true},       Row{DType::kMXFP4, "mxfp4", 136, true},
    Row{DType::kI64, "i64", 2048, false},        Row{DType::kI32, "i32", 1024, false},
    Row{DType::kI16, "i16", 512, false},         Row{DType::kI8, "i8", 256, false},
    Row{DType::kU8, "u8", 256, false},           Row{DType::kBool, "bool", 256, false},
    Row{DType::kI2_32, "i2_32", 84, true},       Row{DType::kI2_64, "i2_64", 74, true},
    Row{DType::kI2_128, "i2_128", 70, true},     Row{DType::kI2_256, "i2_256", 67, true},
    Row{DType::kI3_32, "i3_32", 116, true},      Row{DType::kI3_64, "i3_64", 108, true},
    Row{DType::kI3_128, "i3_128", 102, true},    Row{DType::kI3_256, "i3_256", 99, true},
    Row{DType::kI4_32, "i4_32", 152, true},      Row{DType::kI4_64, "i4_64", 140, true},
    Row{DType::kI4_128, "i4_128", 134, true},    Row{DType::kI4_256, "i4_256", 131, true},
    Row{DType::kI8_32, "i8_32", 296, true},      Row{DType::kI8_64, "i8_64", 276, true},
    Row{DType::kI8_128, "i8_128", 266, true},    Row{DType::kI8_256, "i8_256", 261, true},
    Row{DType::kF8_32, "f8_32", 288, true},      Row{DType::kF8_64, "f8_64", 272, true},
    Row{DType::kF8_128, "f8_128", 264, true},    Row{DType::kF8_256, "f8_256", 260, true},
    Row{DType::kNF4_64, "nf4_64", 144, true},    Row{DType::kFP4_64, "fp4_64", 144, true},
    Row{DType::kF8_E4M3, "f8_e4m3", 256, false}, Row{DType::kQ2_B32, "q2_b32", 96, true},
    Row{DType::kQ3_B32, "q3_b32", 128, true},    Row{DType::kQ3H_B64, "q3h_b64", 128, true},
    Row{DType::kQ4_B32, "q4_b32", 160, true},    Row{DType::kQ4_B64, "q4_b64", 144, true},
    Row{DType::kQ5_B64, "q5_b64", 176, true},    Row{DType::kQ6_B64, "q6_b64", 208, true},
    Row{DType::kQ8_B32, "q8_b32", 288, true},
};

TEST(DTypeTest, HasANameASizeAndAKind) {
  std::set<std::string_view> names;
  for (const Row& row : kAll) {
    EXPECT_EQ(to_string(row.dtype), row.name);
    EXPECT_EQ(dtype_named(row.name), row.dtype);
    EXPECT_EQ(bytes_of(row.dtype, 256), row.bytes) << row.name;
    EXPECT_EQ(is_float(row.dtype), row.is_float) << row.name;
    EXPECT_EQ(block_of(row.dtype).bytes * (256 / block_of(row.dtype).elements), row.bytes);
    names.insert(row.name);
  }
  EXPECT_EQ(names.size(), kAll.size());
  EXPECT_EQ(dtype_named("Q8_0"), std::nullopt);
  EXPECT_EQ(dtype_named(""), std::nullopt);
}

TEST(DTypeTest, TellsEncodedWeightsFromPlainNumbers) {
  EXPECT_TRUE(is_encoded(DType::kQ8_0));
  EXPECT_TRUE(is_encoded(DType::kMXFP4));
  EXPECT_FALSE(is_encoded(DType::kBF16));
  EXPECT_FALSE(is_encoded(DType::kI8));
}

TEST(DTypeTest, CountsWholeBlocksOnly) {
  EXPECT_EQ(bytes_of(DType::kQ8_0, 0), 0);
  EXPECT_EQ(bytes_of(DType::kQ8_0, 64), 68);
  EXPECT_EQ(bytes_of(DType::kQ8_0, 1), std::nullopt);
  EXPECT_EQ(bytes_of(DType::kQ8_0, 33), std::nullopt);
  EXPECT_EQ(bytes_of(DType::kQ4_K, 512), 288);
  EXPECT_EQ(bytes_of(DType::kQ4_K, 255), std::nullopt);
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
