#include "weft/gpu/cuda/cuda_capacity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "weft/core/kv_dtype.h"
#include "weft/gpu/cuda/cuda_device.h"
#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/step_options.h"
#include "weft/model/random_llama.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

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

TEST(CudaCapacity, TakesMemoryForTheChoicesBehindGuesses) {
  const RandomLlama llama(LlamaShape{}, 1);
  const cuda::Properties gpu{"some", 4, 90, 4096};
  const auto limits_of = [&](std::int32_t guesses) {
    const CapacityWishes wishes{.rows = 8, .guesses = guesses};
    return cuda::cuda_capacity(*llama.program(), wishes, std::int64_t{1} << 32U, gpu).value();
  };
  const auto taken = [&](const DeviceLimits& limits) {
    const auto options = step_options(*llama.program(), limits, DType::kF32);
    return cuda::CudaDevice::memory_bytes(*llama.program(), options, gpu);
  };
  const DeviceLimits none = limits_of(0);
  const DeviceLimits some = limits_of(4);
  EXPECT_EQ(some.guesses, 4);
  EXPECT_TRUE(some.chooses_at_once);
  // Logits and edited logits of 32 choices more.
  EXPECT_GE(taken(some) - taken(none), std::int64_t{2} * 32 * 4 * LlamaShape{}.vocabulary);
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

class KvOnHostTest : public testing::Test {
 protected:
  static constexpr std::int64_t kPlenty = std::int64_t{1} << 32U;

  [[nodiscard]] Result<DeviceLimits> fits(std::int64_t device_bytes) const {
    return cuda::cuda_capacity(*llama_.program(), wishes_, device_bytes, gpu_);
  }
  [[nodiscard]] DeviceOptions options(const DeviceLimits& limits) const {
    return step_options(*llama_.program(), limits, wishes_.kv_dtype);
  }
  [[nodiscard]] std::int64_t device_bytes(const DeviceLimits& limits) const {
    return cuda::CudaDevice::memory_bytes(*llama_.program(), options(limits), gpu_);
  }
  [[nodiscard]] std::int64_t host_bytes(const DeviceLimits& limits) const {
    return cuda::CudaDevice::host_bytes(*llama_.program(), options(limits), gpu_);
  }

  const RandomLlama llama_{LlamaShape{}, 1};
  const cuda::Properties gpu_ = FakeRuntime(std::make_shared<FakeGpu>()).properties();
  CapacityWishes wishes_{
      .memory_fraction = 1, .rows = 8, .kv_dtype = DType::kBF16, .kv_host_bytes = kPlenty};
};

TEST_F(KvOnHostTest, TakesThePagesFromHostMemoryAndNothingElse) {
  const DeviceLimits there = fits(kPlenty).value();
  ASSERT_TRUE(there.kv_on_host);
  ASSERT_EQ(there.pages, 8 * there.pages_per_row());
  DeviceLimits here = there;
  here.kv_on_host = false;
  EXPECT_EQ(host_bytes(here), 0);
  EXPECT_EQ(host_bytes(there) + device_bytes(there), device_bytes(here));
  EXPECT_EQ(host_bytes(there), there.pages * cuda::page_bytes(*llama_.program(), options(there)));
}

TEST_F(KvOnHostTest, FillsTheHostMemoryThatItMayTakeAndNoMore) {
  DeviceLimits half = fits(kPlenty).value();
  half.pages /= 2;
  wishes_.kv_host_bytes = host_bytes(half);
  const DeviceLimits limits = fits(kPlenty).value();
  EXPECT_LE(host_bytes(limits), wishes_.kv_host_bytes);
  EXPECT_GE(limits.pages, half.pages - 4) << "pieces of the arena are rounded up";
  wishes_.slabs = true;
  const DeviceLimits slabs = fits(kPlenty).value();
  EXPECT_TRUE(slabs.kv_on_host);
  EXPECT_EQ(slabs.pages, slabs.rows * slabs.pages_per_row());
  EXPECT_LE(host_bytes(slabs), wishes_.kv_host_bytes);
}

TEST_F(KvOnHostTest, HasAPagesWorthOfTheDeviceFreeForOthers) {
  const DeviceLimits limits = fits(kPlenty).value();
  const std::int64_t bytes =
      device_bytes(limits) + static_cast<std::int64_t>(cuda::kLinearEngineBytes);
  EXPECT_EQ(fits(bytes).value().pages, limits.pages);
  wishes_.kv_host_bytes = 0;
  EXPECT_FALSE(fits(bytes)) << "weights and buffers have taken all of it";
}

TEST_F(KvOnHostTest, SaysWhichMemoryIsTooSmall) {
  wishes_.kv_host_bytes = 1000;
  const auto host = fits(kPlenty);
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().code, DeviceErrc::kOutOfMemory);
  EXPECT_NE(host.error().detail.find("of 1 MiB of host memory that may be taken"),
            std::string::npos)
      << host.error().detail;
  wishes_.kv_host_bytes = kPlenty;
  const auto device = fits(1000);
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().detail.find("of 1 MiB that may be taken"), std::string::npos)
      << device.error().detail;
}

TEST_F(KvOnHostTest, GpusShareTheHostsMemoryInEqualParts) {
  wishes_.kv_host_bytes = 900;
  EXPECT_EQ(with_host_share(wishes_, 3).kv_host_bytes, 300);
  EXPECT_EQ(with_host_share(wishes_, 1000).kv_host_bytes, 1) << "and not the devices' memory";
  wishes_.kv_host_bytes = 0;
  EXPECT_EQ(with_host_share(wishes_, 3).kv_host_bytes, 0);
}

TEST_F(KvOnHostTest, ADeviceTakesWhatWasCounted) {
  DeviceLimits limits = fits(kPlenty).value();
  std::size_t pinned = 0;
  for (const bool on_host : {false, true}) {
    limits.kv_on_host = on_host;
    const auto gpu = std::make_shared<FakeGpu>();
    const auto device =
        cuda::CudaDevice::load(std::make_unique<FakeRuntime>(gpu), llama_.checkpoint(),
                               llama_.program(), options(limits), {})
            .value();
    EXPECT_EQ(gpu->taken, static_cast<std::size_t>(device_bytes(limits)));
    if (!on_host) pinned = gpu->pinned;  // what a step tells the GPU
    EXPECT_EQ(gpu->pinned, pinned + static_cast<std::size_t>(host_bytes(limits)));
  }
}

}  // namespace
}  // namespace weft::test
