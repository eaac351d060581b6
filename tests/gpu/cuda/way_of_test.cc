// Which way a product is computed in, by GPU and table.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "weft/gpu/cuda/op_launcher.h"
#include "weft/kernels/linear/linear_table_cuda.h"
#include "weft/kernels/linear/linear_ways_cuda.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

namespace weft::test {
namespace {

using cuda::LinearWay;

/// A GPU with all ways of its architecture.
std::shared_ptr<FakeGpu> gpu_of(std::int32_t architecture) {
  auto gpu = std::make_shared<FakeGpu>();
  gpu->has_sm90a = architecture == 90;
  gpu->multiplies_codes = true;
  gpu->can = [](LinearWay /*way*/, std::int64_t /*tokens*/) { return true; };
  return gpu;
}

cuda::DeviceMatrix matrix_of(DType dtype) {
  cuda::DeviceMatrix matrix;
  matrix.dtype = dtype;
  matrix.outputs = matrix.inputs = matrix.stride = 256;
  if (!is_encoded(dtype)) return matrix;
  matrix.runs[0].dtype = dtype;
  matrix.runs[0].boxed = encoding_row(dtype).tensor_codes == TensorCodes::kBoxes;
  matrix.run_count = 1;
  return matrix;
}

LinearWay way_on(std::int32_t architecture, DType dtype, std::int64_t rows,
                 const cuda::CudaLinearTable& table = {}) {
  const FakeRuntime runtime(gpu_of(architecture));
  return cuda::way_of(runtime, table, matrix_of(dtype), rows, cuda::kUsualSteps);
}

TEST(WayOf, AGpuOfSm90HasItsOwnKernels) {
  EXPECT_EQ(way_on(90, DType::kBF16, 1), LinearWay::kFlat);
  EXPECT_EQ(way_on(90, DType::kBF16, 64), LinearWay::kLibrary);
  for (const DType dtype : {DType::kQ4_K, DType::kI4_128, DType::kF8_128}) {
    EXPECT_EQ(way_on(90, dtype, 1), LinearWay::kCodes);
    EXPECT_EQ(way_on(90, dtype, 65), LinearWay::kCodes);
  }
}

TEST(WayOf, AnyOtherGpuFetchesTheWeightsOfFewRows) {
  for (const std::int32_t architecture : {80, 86, 89, 120}) {
    EXPECT_EQ(way_on(architecture, DType::kBF16, 1), LinearWay::kFlatFetched);
    EXPECT_EQ(way_on(architecture, DType::kF16, 32), LinearWay::kFlatFetched);
    EXPECT_EQ(way_on(architecture, DType::kBF16, 33), LinearWay::kLibrary);
    for (const DType dtype :
         {DType::kQ4_K, DType::kQ6_K, DType::kQ8_0, DType::kI4_64, DType::kF8_128}) {
      EXPECT_EQ(way_on(architecture, dtype, 1), LinearWay::kCodesFetched);
      EXPECT_EQ(way_on(architecture, dtype, 64), LinearWay::kCodesFetched);
      EXPECT_EQ(way_on(architecture, dtype, 65), LinearWay::kDecoded);
    }
  }
}

TEST(WayOf, ATableMakesAGpuOfSm90TakeTheWaysOfOthers) {
  cuda::CudaLinearTable table;
  ASSERT_EQ(table.read_line("avoid flat"), "");
  ASSERT_EQ(table.read_line("avoid codes"), "");
  for (const std::int64_t rows : {1, 32, 33, 64, 65, 4096}) {
    for (const DType dtype : {DType::kBF16, DType::kQ4_K, DType::kI4_128, DType::kF32}) {
      EXPECT_EQ(way_on(90, dtype, rows, table), way_on(80, dtype, rows)) << rows << " rows";
    }
  }
}

TEST(WayOf, AWayThatATableNamesIsNotTakenWhereItIsAvoided) {
  cuda::CudaLinearTable table;
  ASSERT_EQ(table.read_line("bf16 256 256 64 flat"), "");
  EXPECT_EQ(way_on(90, DType::kBF16, 64, table), LinearWay::kFlat);
  ASSERT_EQ(table.read_line("avoid flat"), "");
  EXPECT_EQ(way_on(90, DType::kBF16, 64, table), LinearWay::kLibrary);
}

}  // namespace
}  // namespace weft::test
