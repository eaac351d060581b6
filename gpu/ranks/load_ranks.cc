#include "weft/gpu/ranks/load_ranks.h"

#include <cstdint>
#include <utility>

#include "weft/gpu/device_info.h"
#include "weft/gpu/host/host_capacity.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/memory_portion.h"
#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/mixed_ranks.h"
#include "weft/gpu/ranks/world/load_world.h"
#include "weft/gpu/step_options.h"

namespace weft {
namespace {

using Programs = std::vector<std::shared_ptr<const Program>>;

/// What all ranks on the host take together, of which `programs` are: they have its memory in
/// common.
DeviceNeeds needs_of(const OpenedModel& model, const Partition& partition, const Programs& programs,
                     const CapacityWishes& wishes) {
  std::vector<DeviceNeeds> each;
  DeviceNeeds all;
  for (const auto& program : programs) {
    each.push_back(host_needs(*program, wishes));
    all.page_bytes += each.back().page_bytes;
  }
  all.bytes = [each = std::move(each), &model, &partition, wishes](const DeviceLimits& limits) {
    const DeviceOptions options = step_options(*model.program, limits, wishes.kv_dtype, 1);
    auto bytes =
        static_cast<std::int64_t>(SharedRanks::bytes(layout_of(model, partition, options)));
    for (const DeviceNeeds& needs : each) bytes += needs.bytes(limits);
    return bytes;
  };
  return all;
}

Result<StepDevices> load_ranks_on_host(const OpenedModel& model, const Partition& partition,
                                       const DeviceWishes& wishes, const CapacityWishes& capacity,
                                       const Programs& programs,
                                       const std::vector<TokenId>& end_tokens,
                                       const LoadProgress& progress) {
  const auto free_bytes = static_cast<std::int64_t>(host_info().free_bytes);
  const auto portion = take_portion(*model.program, wishes, capacity, free_bytes,
                                    needs_of(model, partition, programs, capacity));
  if (!portion) return portion.error();
  DeviceLimits limits = portion->limits;
  limits.stages = static_cast<std::int32_t>(partition.stages.size());
  StepDevices loaded{limits, {{}}};
  const auto keep = [&](std::unique_ptr<StepDevice> device) {
    loaded.devices.front().push_back(with_claim(std::move(device), portion->claim));
  };
  if (!wishes.world.is_alone()) {
    auto devices = load_world(
        {model, partition, programs, wishes.world, limits, capacity.kv_dtype, wishes.threads},
        end_tokens, progress);
    if (!devices) return devices.error();
    for (auto& device : *devices) keep(std::move(device));
    return loaded;
  }
  const DeviceOptions options =
      step_options(*model.program, limits, capacity.kv_dtype, wishes.threads);
  const auto ranks = plan_host_ranks(model, partition, programs, options);
  if (!ranks) return ranks.error();
  auto devices = load_host_ranks(model, *ranks, progress);
  if (!devices) return devices.error();
  for (auto& device : *devices) {
    keep(std::make_unique<HostStepDevice>(std::move(device), limits, end_tokens));
  }
  return loaded;
}

/// Why a partition with GPUs cannot be what is wished.
Result<void> check_gpu_wishes(const DeviceWishes& wishes) {
  if (wishes.budget) {
    return Error{DeviceErrc::kUnfit, "partition: a memory budget is of one device's memory"};
  }
  if (!wishes.world.is_alone()) {
    return Error{DeviceErrc::kUnfit, "partition: with GPUs, ranks are threads of one process"};
  }
  return {};
}

Result<StepDevices> load_ranks_on_gpus(const OpenedModel& model, const Partition& partition,
                                       const DeviceWishes& wishes, const CapacityWishes& capacity,
                                       const Programs& programs,
                                       const std::vector<TokenId>& end_tokens,
                                       const LoadProgress& progress) {
  if (const auto fit = check_gpu_wishes(wishes); !fit) return fit.error();
  auto ranks = open_gpu_ranks(model, partition, programs, wishes.tuning);
  if (!ranks) return ranks.error();
  const auto free_bytes = free_memory(*ranks);
  if (!free_bytes) return free_bytes.error();
  const auto limits = gpu_ranks_capacity(*ranks, capacity, *free_bytes);
  if (!limits) return limits.error();
  const DeviceOptions options = step_options(*model.program, *limits, capacity.kv_dtype,
                                             threads_of_rank(partition, wishes.threads));
  auto devices =
      load_gpu_step_ranks(model, *std::move(ranks), *limits, options, end_tokens, progress);
  if (!devices) return devices.error();
  StepDevices loaded{*limits, {{}}};
  for (auto& device : *devices) loaded.devices.front().push_back(std::move(device));
  return loaded;
}

/// What fits on the GPUs and on the host.
Result<DeviceLimits> mixed_capacity(const OpenedModel& model, const Partition& partition,
                                    const GpuRanks& gpus, const CapacityWishes& capacity,
                                    const Programs& programs) {
  const auto gpu_bytes = free_memory(gpus);
  if (!gpu_bytes) return gpu_bytes.error();
  const auto on_gpus = gpu_ranks_capacity(gpus, capacity, *gpu_bytes);
  if (!on_gpus) return on_gpus.error();
  Programs on_host;
  std::size_t number = 0;
  for (const Partition::Stage& stage : partition.stages) {
    for (std::size_t i = 0; i < stage.devices.size(); ++i, ++number) {
      if (stage.is_on_host()) on_host.push_back(programs[number]);
    }
  }
  const auto host_bytes = static_cast<std::int64_t>(host_info().free_bytes);
  const auto limits = device_capacity(*on_host.front(), capacity, host_bytes,
                                      needs_of(model, partition, on_host, capacity));
  if (!limits) return Error{limits.error().code, "the host: " + limits.error().detail};
  return least_limits(*on_gpus, *limits, capacity.slabs);
}

Result<StepDevices> load_ranks_on_both(const OpenedModel& model, const Partition& partition,
                                       const DeviceWishes& wishes, const CapacityWishes& capacity,
                                       const Programs& programs,
                                       const std::vector<TokenId>& end_tokens,
                                       const LoadProgress& progress) {
  if (const auto fit = check_gpu_wishes(wishes); !fit) return fit.error();
  auto gpus = open_gpu_ranks(model, partition, programs, wishes.tuning);
  if (!gpus) return gpus.error();
  const auto limits = mixed_capacity(model, partition, *gpus, capacity, programs);
  if (!limits) return limits.error();
  auto ranks =
      plan_mixed_ranks(model, partition, programs, *std::move(gpus),
                       step_options(*model.program, *limits, capacity.kv_dtype, wishes.threads));
  if (!ranks) return ranks.error();
  auto devices = load_mixed_step_ranks(model, *std::move(ranks), *limits, end_tokens, progress);
  if (!devices) return devices.error();
  StepDevices loaded{*limits, {}};
  loaded.devices.push_back(*std::move(devices));
  return loaded;
}

}  // namespace

Result<StepDevices> load_ranks(const OpenedModel& model, const Partition& partition,
                               const DeviceWishes& wishes, const std::vector<TokenId>& end_tokens,
                               const LoadProgress& progress) {
  if (wishes.instances > 1) {
    return Error{DeviceErrc::kUnfit, "partition: several instances have a device each"};
  }
  const auto kind = devices_of(partition);
  if (!kind) return kind.error();
  const auto programs = compile_parts(model, partition);
  if (!programs) return programs.error();
  CapacityWishes capacity = wishes.capacity;
  capacity.kv_dtype = wishes.kv_dtype.value_or(kv_dtype_for(wishes.device, *model.program));
  const auto load = *kind == RankDevices::kHost   ? load_ranks_on_host
                    : *kind == RankDevices::kGpus ? load_ranks_on_gpus
                                                  : load_ranks_on_both;
  return load(model, partition, wishes, capacity, *programs, end_tokens, progress);
}

}  // namespace weft
