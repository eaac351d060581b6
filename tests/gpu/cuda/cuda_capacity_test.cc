#include "weft/gpu/cuda/cuda_capacity.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "weft/core/kv_dtype.h"
#include "weft/gpu/cuda/cuda_device.h"
#include "weft/gpu/step_options.h"
#include "weft/model/random_llama.h"

namespace weft::test {
namespace {

// Besides the arena, products take all that is used of the device's memory.
TEST(CudaCapacity, FillsTheMemoryThatItMayTakeAndNoMore) {
  const RandomLlama llama(LlamaShape{}, 1);
  const cuda::Properties gpu{"some", 4, 90, 4096};
  const auto taken = [&](const DeviceLimits& limits) {
    const auto options = step_options(*llama.program(), limits, DType::kBF16);
    return cuda::CudaDevice::memory_bytes(*llama.program(), options, gpu) +
           static_cast<std::int64_t>(cuda::kLinearEngineBytes);
  };
  const CapacityWishes wishes{.memory_fraction = 1, .rows = 8, .kv_dtype = DType::kBF16};
  const auto limits_in = [&](std::int64_t bytes) {
    return cuda::cuda_capacity(*llama.program(), wishes, bytes, gpu).value();
  };
  const DeviceLimits most = limits_in(std::int64_t{1} << 32U);
  ASSERT_EQ(most.pages, 8 * most.pages_per_row());
  DeviceLimits half = most;
  half.pages /= 2;
  const std::int64_t bytes = taken(half);
  const DeviceLimits limits = limits_in(bytes);
  EXPECT_LT(limits.pages, most.pages);
  EXPECT_LE(taken(limits), bytes);
  DeviceLimits beyond = limits;
  beyond.pages += 4;  // pieces of the arena are rounded up
  EXPECT_GT(taken(beyond), bytes);
}

TEST(CudaCapacity, HasRoomForMorePagesWhereKeysAndValuesAreCodes) {
  const RandomLlama llama(LlamaShape{}, 1);
  const cuda::Properties gpu{"some", 4, 90, 4096};
  const auto limits_of = [&](DType dtype, std::int64_t bytes) {
    const CapacityWishes wishes{.memory_fraction = 1, .rows = 64, .kv_dtype = dtype};
    return cuda::cuda_capacity(*llama.program(), wishes, bytes, gpu).value();
  };
  DeviceLimits few = limits_of(DType::kBF16, std::int64_t{1} << 32U);
  few.pages /= 4;
  const auto options = step_options(*llama.program(), few, DType::kBF16);
  const std::int64_t bytes = cuda::CudaDevice::memory_bytes(*llama.program(), options, gpu) +
                             static_cast<std::int64_t>(cuda::kLinearEngineBytes);
  for (const DType dtype : {DType::kI8, DType::kF8_E4M3}) {
    EXPECT_GT(10 * limits_of(dtype, bytes).pages, 13 * limits_of(DType::kBF16, bytes).pages)
        << kv_dtype_name(dtype);
  }
}

}  // namespace
}  // namespace weft::test
