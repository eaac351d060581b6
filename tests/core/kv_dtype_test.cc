#include "weft/core/kv_dtype.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(KvDTypeTest, CountsAScaleForEachTokenAndHeadOfCodes) {
  EXPECT_EQ(kv_row_bytes(DType::kF32, 64), 256);
  EXPECT_EQ(kv_row_bytes(DType::kF16, 64), 128);
  EXPECT_EQ(kv_row_bytes(DType::kBF16, 3), 6);
  EXPECT_EQ(kv_row_bytes(DType::kI8, 64), 68);
  EXPECT_EQ(kv_row_bytes(DType::kF8_E4M3, 1), 5);
  EXPECT_EQ(kv_row_bytes(DType::kI8, 0), 0);
  EXPECT_EQ(kv_row_bytes(DType::kI8, -5), 0);
  EXPECT_EQ(kv_row_bytes(DType::kQ8_0, 64), 0) << "no cache has this type";
}

TEST(KvDTypeTest, CallsTypesByTheNamesOfSettings) {
  EXPECT_EQ(kv_dtype_name(DType::kBF16), "bf16");
  EXPECT_EQ(kv_dtype_name(DType::kI8), "int8");
  EXPECT_EQ(kv_dtype_name(DType::kF8_E4M3), "fp8");
  EXPECT_EQ(kv_dtype_name(DType::kQ4_K), "q4_k");
}

TEST(KvDTypeTest, TellsCodesFromNumbersThatStandForThemselves) {
  for (const KvDType& each : kKvDTypes) {
    EXPECT_TRUE(is_kv_dtype(each.dtype)) << each.name;
    EXPECT_EQ(is_coded_kv(each.dtype), block_of(each.dtype).bytes == 1) << each.name;
  }
  EXPECT_FALSE(is_kv_dtype(DType::kF64));
  EXPECT_FALSE(is_kv_dtype(DType::kU8));
}

}  // namespace
}  // namespace weft
