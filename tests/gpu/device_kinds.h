#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/step_device.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/open_model.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

namespace weft::cuda {
class CudaStepDevice;
}  // namespace weft::cuda

namespace weft::test {

/// A kind of device: each test of devices runs on all kinds that are here.
struct DeviceKind {
  std::string name;
  std::size_t gpus = 0;    ///< that must be here
  std::size_t stages = 1;  ///< each wants a layer at least
  std::function<std::unique_ptr<ModelDevice>(const std::shared_ptr<const Checkpoint>&,
                                             const std::shared_ptr<const Program>&,
                                             const DeviceOptions&)>
      load;
  DType kv_dtype = DType::kF32;  ///< type of the devices that load_steps makes
  std::function<std::unique_ptr<StepDevice>(const std::shared_ptr<const Checkpoint>&,
                                            const std::shared_ptr<const Program>&,
                                            const DeviceLimits&)>
      load_steps;
};

/// With another type of keys and values than f32 it is called "host_int8" and the like; so are the
/// GPUs below.
[[nodiscard]] DeviceKind host_kind(int threads = 1, DType kv_dtype = DType::kF32);

/// Ranks on the host, as parse_partition() reads them; all of them run a plan before it counts as
/// done.
[[nodiscard]] DeviceKind ranks_kind(const std::string& name, const std::string& partition);

/// The GPUs' device over naive loops in the host's memory.
[[nodiscard]] DeviceKind fake_gpu_kind(DType kv_dtype = DType::kF32);

/// Ranks on such GPUs, as ranks_kind() has them: "cuda:0,cuda:1", also beside ranks on the host,
/// "cuda:0 | cpu".
[[nodiscard]] DeviceKind fake_gpu_ranks_kind(const std::string& name, const std::string& partition);

/// Returns the options for ranks of a partition on fake GPUs; `gpus` are in their order.
[[nodiscard]] GpuRanks fake_gpu_ranks(const OpenedModel& model, const Partition& partition,
                                      const DeviceOptions& options,
                                      const std::vector<std::shared_ptr<FakeGpu>>& gpus);

/// A GPU's step device with one thread of the host. Errors of CudaDevice::load() and
/// CudaStepDevice::make().
[[nodiscard]] Result<std::unique_ptr<cuda::CudaStepDevice>> load_gpu_steps(
    std::unique_ptr<cuda::Runtime> runtime, const std::shared_ptr<const Checkpoint>& checkpoint,
    const std::shared_ptr<const Program>& program, const DeviceLimits& limits,
    DType kv_dtype = DType::kF32, const std::vector<TokenId>& end_tokens = {},
    const cuda::Tuning& tuning = {});

/// A model as it was opened, of what kinds are given.
[[nodiscard]] OpenedModel opened(const std::shared_ptr<const Checkpoint>& checkpoint,
                                 const std::shared_ptr<const Program>& program);

/// The first GPU; where there is none, WEFT_SKIP_WITHOUT_GPU skips the test.
[[nodiscard]] DeviceKind gpu_kind(DType kv_dtype = DType::kF32);
/// The first GPU with the ways to multiply of GPUs that are none of sm_90: threads fetch weights.
[[nodiscard]] DeviceKind fetching_gpu_kind();
/// Ranks on GPUs: their names begin with "gpu_", too.
[[nodiscard]] DeviceKind gpu_ranks_kind(const std::string& name, const std::string& partition);
/// Returns the kind with the KV cache of its GPUs in host memory.
[[nodiscard]] DeviceKind with_kv_on_host(DeviceKind kind);
[[nodiscard]] std::size_t gpu_count();
[[nodiscard]] inline bool has_gpu() { return gpu_count() > 0; }

[[nodiscard]] inline std::vector<DeviceKind> device_kinds() {
  return {host_kind(),
          ranks_kind("host_tp2", "cpu,cpu"),
          ranks_kind("host_pp2", "cpu | cpu"),
          fake_gpu_kind(),
          fake_gpu_ranks_kind("fake_gpu_tp2", "cuda:0,cuda:1"),
          fake_gpu_ranks_kind("fake_gpu_pp2", "cuda:0 | cuda:1"),
          fake_gpu_ranks_kind("fake_gpu_then_host", "cuda:0 | cpu"),
          fake_gpu_ranks_kind("host_then_fake_gpu", "cpu | cuda:0"),
          fake_gpu_ranks_kind("fake_gpu_tp2_then_host_tp2", "cuda:0,cuda:1 | cpu,cpu"),
          gpu_kind(),
          fetching_gpu_kind(),
          gpu_ranks_kind("gpu_tp2", "cuda:0,cuda:1"),
          gpu_ranks_kind("gpu_pp2", "cuda:0 | cuda:1"),
          gpu_ranks_kind("gpu_tp4", "cuda:0,cuda:1,cuda:2,cuda:3"),
          gpu_ranks_kind("gpu_tp2pp2", "cuda:0,cuda:1 | cuda:2,cuda:3"),
          gpu_ranks_kind("gpu_then_host", "cuda:0 | cpu"),
          gpu_ranks_kind("host_then_gpu", "cpu | cuda:0")};
}

/// GPUs whose KV cache is in host memory.
[[nodiscard]] inline std::vector<DeviceKind> kv_on_host_kinds() {
  return {with_kv_on_host(fake_gpu_kind()),
          with_kv_on_host(fake_gpu_kind(DType::kI8)),
          with_kv_on_host(fake_gpu_ranks_kind("fake_gpu_tp2", "cuda:0,cuda:1")),
          with_kv_on_host(gpu_kind()),
          with_kv_on_host(gpu_kind(DType::kI8)),
          with_kv_on_host(gpu_ranks_kind("gpu_tp2", "cuda:0,cuda:1"))};
}

/// The kinds of devices that keep keys and values as codes.
[[nodiscard]] inline std::vector<DeviceKind> coded_kv_kinds() {
  std::vector<DeviceKind> kinds;
  for (const DType dtype : {DType::kI8, DType::kF8_E4M3}) {
    kinds.insert(kinds.end(), {host_kind(2, dtype), fake_gpu_kind(dtype), gpu_kind(dtype)});
  }
  return kinds;
}

inline std::string kind_name(const testing::TestParamInfo<DeviceKind>& info) {
  return info.param.name;
}

inline std::ostream& operator<<(std::ostream& out, const DeviceKind& kind) {
  return out << kind.name;
}

}  // namespace weft::test

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): it returns from the test
#define WEFT_SKIP_WITHOUT_GPU(kind)                      \
  if ((kind).gpus > weft::test::gpu_count()) {           \
    GTEST_SKIP() << (kind).gpus << " GPUs are not here"; \
  }                                                      \
  static_assert(true)
