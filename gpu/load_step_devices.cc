#include "weft/gpu/load_step_devices.h"

#include <algorithm>
#include <string>
#include <utility>

#include "weft/gpu/cuda/cuda_capacity.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/host/host_capacity.h"
#include "weft/gpu/host/host_processors.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/memory_portion.h"
#include "weft/gpu/ranks/load_ranks.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/partitioned_device.h"
#include "weft/gpu/step_options.h"

namespace weft {
namespace {

constexpr const char* kHost = "cpu";

Result<StepDevices> load_on_host(const OpenedModel& model, const DeviceWishes& wishes,
                                 CapacityWishes capacity, const std::vector<TokenId>& end_tokens,
                                 const LoadProgress& progress) {
  if (!wishes.tuning.empty()) {
    return Error{DeviceErrc::kUnfit,
                 "device.tuning: " + wishes.tuning + " is for a GPU, and the device is " + kHost};
  }
  const auto free_bytes = static_cast<std::int64_t>(host_info().free_bytes);
  const auto portion = take_portion(*model.program, wishes, capacity, free_bytes,
                                    host_needs(*model.program, capacity));
  if (!portion) return portion.error();
  const DeviceLimits& limits = portion->limits;
  // Instances compete for the cores; each has its share of them.
  const int all = wishes.threads > 0 ? wishes.threads : host_parallelism();
  const int threads = wishes.instances > 1 ? std::max(1, all / wishes.instances) : wishes.threads;
  const DeviceOptions options = step_options(*model.program, limits, capacity.kv_dtype, threads);
  auto device = HostDevice::load(model.checkpoint, model.program, options, progress);
  if (!device) return device.error();
  auto first = std::make_unique<HostStepDevice>(*std::move(device), limits, end_tokens);
  StepDevices loaded{limits, {}};
  for (std::int32_t i = 1; i < wishes.instances; ++i) {
    auto other = first->share_weights(limits, capacity.kv_dtype, threads);
    if (!other) return other.error();
    loaded.devices.push_back({with_claim(*std::move(other), portion->claim)});
  }
  loaded.devices.push_back({with_claim(std::move(first), portion->claim)});
  return loaded;
}

Result<std::unique_ptr<cuda::Runtime>> runtime_of(const std::string& device) {
  const auto index = cuda::device_index(device);
  if (!index) return Error{index.error().code, "device: " + index.error().detail};
  return cuda::open_runtime(*index);
}

Result<StepDevices> load_on_gpu(const OpenedModel& model, const DeviceWishes& wishes,
                                CapacityWishes capacity, const std::vector<TokenId>& end_tokens,
                                const LoadProgress& progress) {
  if (wishes.instances > 1) {
    return Error{DeviceErrc::kUnfit, wishes.device + ": only cpu runs several instances"};
  }
  if (const auto fits = cuda::check_kv_dtype(capacity.kv_dtype); !fits) return fits.error();
  auto runtime = runtime_of(wishes.device);
  if (!runtime) return runtime.error();
  const auto tuning =
      cuda::find_tuning(wishes.tuning, (*runtime)->properties().name, *model.program);
  if (!tuning) return tuning.error();
  const auto free_bytes = cuda::free_memory(**runtime);
  if (!free_bytes) return free_bytes.error();
  const auto portion =
      take_portion(*model.program, wishes, capacity, *free_bytes,
                   cuda::cuda_needs(*model.program, capacity, (*runtime)->properties()));
  if (!portion) return portion.error();
  DeviceOptions options = step_options(*model.program, portion->limits, capacity.kv_dtype);
  options.threads = wishes.threads;
  auto device = cuda::CudaDevice::load(*std::move(runtime), model.checkpoint, model.program,
                                       options, *tuning, progress);
  if (!device) return device.error();
  auto made = cuda::CudaStepDevice::make(*std::move(device), portion->limits, end_tokens);
  if (!made) return made.error();
  return StepDevices{portion->limits, {{with_claim(*std::move(made), portion->claim)}}};
}

}  // namespace

DType kv_dtype_for(const std::string& device, const Program& program) {
  const auto partition = parse_partition(device);
  // What a GPU reads fast the host reads as well.
  const bool on_gpu = partition && !std::ranges::all_of(partition->stages, [](const auto& stage) {
                        return stage.is_on_host();
                      });
  if (!on_gpu) return DType::kF32;
  const auto narrow = std::ranges::find_if(program.matrices, [](const MatrixPlan& matrix) {
    return matrix.dtype == DType::kF16 || matrix.dtype == DType::kBF16;
  });
  if (narrow != program.matrices.end()) return narrow->dtype;
  const bool encoded = std::ranges::any_of(
      program.matrices, [](const MatrixPlan& matrix) { return is_encoded(matrix.dtype); });
  return encoded ? DType::kBF16 : DType::kF32;
}

Result<StepDevices> load_step_devices(const OpenedModel& model, const DeviceWishes& wishes,
                                      const std::vector<TokenId>& end_tokens,
                                      const LoadProgress& progress) {
  const auto partition = parse_partition(wishes.device);
  if (!partition) return partition.error();
  if (partition->ranks() > 1) return load_ranks(model, *partition, wishes, end_tokens, progress);
  CapacityWishes capacity = wishes.capacity;
  capacity.kv_dtype = wishes.kv_dtype.value_or(kv_dtype_for(wishes.device, *model.program));
  const auto load = wishes.device == kHost ? load_on_host : load_on_gpu;
  return load(model, wishes, capacity, end_tokens, progress);
}

Result<std::unique_ptr<ModelDevice>> load_model_device(const OpenedModel& model,
                                                       const std::string& device,
                                                       const DeviceOptions& options,
                                                       const LoadProgress& progress) {
  const auto partition = parse_partition(device);
  if (!partition) return partition.error();
  if (partition->ranks() > 1) {
    auto ranks = PartitionedDevice::load(model, *partition, options, progress);
    if (!ranks) return ranks.error();
    return *std::move(ranks);
  }
  if (device == kHost) {
    auto host = HostDevice::load(model.checkpoint, model.program, options, progress);
    if (!host) return host.error();
    return *std::move(host);
  }
  auto runtime = runtime_of(device);
  if (!runtime) return runtime.error();
  const auto tuning = cuda::find_tuning({}, (*runtime)->properties().name, *model.program);
  if (!tuning) return tuning.error();
  auto made = cuda::CudaDevice::load(*std::move(runtime), model.checkpoint, model.program, options,
                                     *tuning, progress);
  if (!made) return made.error();
  return *std::move(made);
}

}  // namespace weft
