#include "weft/gpu/ranks/load_ranks.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "weft/gpu/cuda/cuda_capacity.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/memory/memory_portion.h"
#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/load_at_once.h"
#include "weft/gpu/ranks/mixed_ranks.h"
#include "weft/gpu/ranks/world/load_world.h"
#include "weft/gpu/ranks/world/world_capacity.h"
#include "weft/gpu/step_options.h"

namespace weft {
namespace {

using Programs = std::vector<std::shared_ptr<const Program>>;

/// A replica, and the programs of its ranks.
struct ReplicaPrograms {
  Partition partition;
  Programs programs;
};
using Replicas = std::vector<ReplicaPrograms>;

/// Returns the memory that the host ranks of all replicas take together. `replicas` have these
/// ranks' programs. The ranks share the host's memory.
DeviceNeeds needs_of(const OpenedModel& model, const Replicas& replicas,
                     const CapacityWishes& wishes) {
  Programs all;
  for (const ReplicaPrograms& replica : replicas) {
    all.insert(all.end(), replica.programs.begin(), replica.programs.end());
  }
  return host_ranks_needs(all, wishes, [&model, &replicas, wishes](const DeviceLimits& limits) {
    const DeviceOptions options = step_options(*model.program, limits, wishes.kv_dtype, 1);
    std::int64_t bytes = 0;
    for (const ReplicaPrograms& replica : replicas) {
      bytes += static_cast<std::int64_t>(
          SharedRanks::bytes(layout_of(model, replica.partition, options)));
    }
    return bytes;
  });
}

/// Loads all replicas at once; load(replica, progress) returns the devices of the replica's ranks.
template <class Load>
Result<StepDevices> load_replicas(std::size_t replicas, const DeviceLimits& limits,
                                  const LoadProgress& progress, const Load& load) {
  StepDevices loaded{limits, std::vector<DeviceRanks>(replicas)};
  const auto done = on_all_ranks(replicas, progress,
                                 [&](std::size_t replica, const LoadProgress& own) -> Result<void> {
                                   auto devices = load(replica, own);
                                   if (!devices) return devices.error();
                                   loaded.devices[replica] = *std::move(devices);
                                   return {};
                                 });
  if (!done) return done.error();
  return loaded;
}

Result<StepDevices> load_on_host_ranks(const OpenedModel& model, const Replicas& replicas,
                                       const DeviceWishes& wishes, const CapacityWishes& capacity,
                                       const std::vector<TokenId>& end_tokens,
                                       const LoadProgress& progress) {
  const auto free_bytes = static_cast<std::int64_t>(host_info().free_bytes);
  const auto portion = take_portion(*model.program, wishes, capacity, free_bytes,
                                    needs_of(model, replicas, capacity));
  if (!portion) return portion.error();
  DeviceLimits limits = portion->limits;
  limits.stages = static_cast<std::int32_t>(replicas.front().partition.stages.size());
  const int threads = threads_of_replica(replicas.size(), wishes.threads);
  const DeviceOptions options = step_options(*model.program, limits, capacity.kv_dtype, threads);
  const auto load = [&](std::size_t replica, const LoadProgress& own) -> Result<DeviceRanks> {
    const auto& [partition, programs] = replicas[replica];
    DeviceRanks kept;
    const auto ranks = plan_host_ranks(model, partition, programs, options, replicas.size());
    if (!ranks) return ranks.error();
    auto devices = load_host_ranks(model, *ranks, own);
    if (!devices) return devices.error();
    for (auto& device : *devices) {
      kept.push_back(with_claim(
          std::make_unique<HostStepDevice>(std::move(device), limits, end_tokens), portion->claim));
    }
    return kept;
  };
  return load_replicas(replicas.size(), limits, progress, load);
}

/// Refuses wishes that a partition with GPUs cannot fulfil.
Result<void> check_gpu_wishes(const DeviceWishes& wishes) {
  if (wishes.budget) {
    return Error{DeviceErrc::kUnfit, "partition: a memory budget is of one device's memory"};
  }
  return {};
}

Result<StepDevices> load_on_gpu_ranks(const OpenedModel& model, const Replicas& replicas,
                                      const DeviceWishes& wishes, const CapacityWishes& capacity,
                                      const std::vector<TokenId>& end_tokens,
                                      const LoadProgress& progress) {
  if (const auto fit = check_gpu_wishes(wishes); !fit) return fit.error();
  std::vector<GpuRanks> opened;
  DeviceLimits limits;
  for (const ReplicaPrograms& replica : replicas) {
    auto ranks = open_gpu_ranks(model, replica.partition, replica.programs, wishes.tuning);
    if (!ranks) return ranks.error();
    const auto free_bytes = free_memory(*ranks);
    if (!free_bytes) return free_bytes.error();
    const auto own = gpu_ranks_capacity(
        *ranks, with_host_share(capacity, replicas.size() * ranks->size()), *free_bytes);
    if (!own) return own.error();
    limits = opened.empty() ? *own : least_of(limits, *own, capacity.slabs);
    opened.push_back(*std::move(ranks));
  }
  const int threads = threads_of_replica(replicas.size(), wishes.threads);
  const auto load = [&](std::size_t replica, const LoadProgress& own) -> Result<DeviceRanks> {
    const DeviceOptions options =
        step_options(*model.program, limits, capacity.kv_dtype,
                     threads_of_rank(replicas[replica].partition, threads));
    auto devices =
        load_gpu_step_ranks(model, std::move(opened[replica]), limits, options, end_tokens, own);
    if (!devices) return devices.error();
    return DeviceRanks(std::make_move_iterator(devices->begin()),
                       std::make_move_iterator(devices->end()));
  };
  return load_replicas(replicas.size(), limits, progress, load);
}

/// Adds the KV cache of GPUs that is in host memory to the needs of the ranks on the host.
DeviceNeeds with_kv_of(const GpuRanks& gpus, const CapacityWishes& capacity, DeviceNeeds needs) {
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const DeviceNeeds gpu =
        cuda::cuda_needs(*gpus.programs[rank], capacity, gpus.runtimes[rank]->properties());
    if (!gpu.host_bytes) continue;
    needs.page_bytes += gpu.host_page_bytes;
    needs.bytes = [others = std::move(needs.bytes), own = gpu.host_bytes](
                      const DeviceLimits& limits) { return others(limits) + own(limits); };
  }
  return needs;
}

/// Returns the limits that fit on the GPUs and on the host.
Result<DeviceLimits> mixed_capacity(const OpenedModel& model, const ReplicaPrograms& whole,
                                    const GpuRanks& gpus, const CapacityWishes& capacity) {
  const auto gpu_bytes = free_memory(gpus);
  if (!gpu_bytes) return gpu_bytes.error();
  const auto on_gpus = gpu_ranks_capacity(gpus, capacity, *gpu_bytes);
  if (!on_gpus) return on_gpus.error();
  ReplicaPrograms on_host{whole.partition, {}};
  std::size_t number = 0;
  for (const Partition::Stage& stage : whole.partition.stages) {
    for (std::size_t i = 0; i < stage.devices.size(); ++i, ++number) {
      if (stage.is_on_host()) on_host.programs.push_back(whole.programs[number]);
    }
  }
  const Program& first = *on_host.programs.front();
  const Replicas host = {std::move(on_host)};
  const auto host_bytes = static_cast<std::int64_t>(host_info().free_bytes);
  const auto limits = device_capacity(first, capacity, host_bytes,
                                      with_kv_of(gpus, capacity, needs_of(model, host, capacity)));
  if (!limits) return Error{limits.error().code, "the host: " + limits.error().detail};
  return least_of(*on_gpus, *limits, capacity.slabs);
}

Result<StepDevices> load_on_both(const OpenedModel& model, const Replicas& replicas,
                                 const DeviceWishes& wishes, const CapacityWishes& capacity,
                                 const std::vector<TokenId>& end_tokens,
                                 const LoadProgress& progress) {
  if (const auto fit = check_gpu_wishes(wishes); !fit) return fit.error();
  if (replicas.size() > 1) {
    return Error{DeviceErrc::kUnfit,
                 "partition: of ranks on GPUs and on the host there is one replica"};
  }
  const auto& [partition, programs] = replicas.front();
  auto gpus = open_gpu_ranks(model, partition, programs, wishes.tuning);
  if (!gpus) return gpus.error();
  const auto limits = mixed_capacity(model, replicas.front(), *gpus, capacity);
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

/// Loads ranks that are each in their own process; this process is the head.
Result<StepDevices> load_in_world(const OpenedModel& model, const ReplicaPrograms& whole,
                                  const DeviceWishes& wishes, const CapacityWishes& capacity,
                                  const std::vector<TokenId>& end_tokens,
                                  const LoadProgress& progress) {
  const auto& [partition, programs] = whole;
  const bool on_gpus = !partition.stages.front().is_on_host();
  if (on_gpus) {
    if (const auto fit = check_gpu_wishes(wishes); !fit) return fit.error();
  }
  const std::size_t own = partition.ranks() - partition.stages.back().devices.size();
  MemoryPortion portion;
  const auto settle = [&](const std::vector<RankRoom>& rooms) -> Result<DeviceLimits> {
    auto all = world_capacity(model, partition, programs, wishes, capacity, rooms, own);
    if (!all) return all.error();
    portion = *std::move(all);
    return portion.limits;
  };
  auto devices = load_world(
      {model, partition, programs, wishes.world, capacity.kv_dtype, wishes.threads, settle},
      {.tuning = wishes.tuning, .end_tokens = end_tokens, .progress = progress});
  if (!devices) return devices.error();
  StepDevices loaded{portion.limits, std::vector<DeviceRanks>(1)};
  for (auto& device : *devices) {
    loaded.devices.front().push_back(with_claim(std::move(device), portion.claim));
  }
  return loaded;
}

}  // namespace

Result<StepDevices> load_ranks(const OpenedModel& model, const std::vector<Partition>& replicas,
                               const DeviceWishes& wishes, const std::vector<TokenId>& end_tokens,
                               const LoadProgress& progress) {
  const bool several_processes = !wishes.world.is_alone();
  const auto kind = devices_of(replicas.front(), several_processes);
  if (!kind) return kind.error();
  Replicas compiled;
  for (const Partition& partition : replicas) {
    auto programs = compile_parts(model, partition);
    if (!programs) return programs.error();
    compiled.push_back({partition, *std::move(programs)});
  }
  CapacityWishes capacity = wishes.capacity;
  capacity.kv_dtype =
      wishes.kv_dtype.value_or(kv_dtype_for(wishes.replicas.front(), *model.program));
  if (several_processes && *kind == RankDevices::kBoth) {
    return Error{DeviceErrc::kUnfit,
                 "partition: ranks on GPUs and on the host are threads of one process, and the "
                 "launcher has started " +
                     std::to_string(wishes.world.size)};
  }
  if (several_processes) {
    return load_in_world(model, compiled.front(), wishes, capacity, end_tokens, progress);
  }
  const auto load = *kind == RankDevices::kHost   ? load_on_host_ranks
                    : *kind == RankDevices::kGpus ? load_on_gpu_ranks
                                                  : load_on_both;
  return load(model, compiled, wishes, capacity, end_tokens, progress);
}

}  // namespace weft
