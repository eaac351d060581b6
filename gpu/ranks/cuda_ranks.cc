#include "weft/gpu/ranks/cuda_ranks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/gpu/cuda/cuda_capacity.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/load_at_once.h"

namespace weft {
namespace {

using cuda::CudaDevice;
using cuda::CudaStepDevice;

// NCCL's memory on a GPU for its channels: some hundred MiB for each of up to four communicators.
constexpr std::int64_t kRankBytes = std::int64_t{1} << 30U;

/// Returns how a rank on a GPU is linked to ranks on the host.
cuda::HostNeighbours host_neighbours_of(const cuda::CudaRank& place, SharedRanks& host) {
  const cuda::CudaRanks& all = *place.all;
  const auto last = static_cast<std::int32_t>(all.widths.size()) - 1;
  return {host.link(place.stage, place.rank), all.is_on_host(place.stage - 1),
          all.is_on_host(place.stage + 1), all.is_on_host(0) || all.is_on_host(last)};
}

Result<std::vector<std::unique_ptr<CudaDevice>>> load_parts(const OpenedModel& model,
                                                            GpuRanks& ranks,
                                                            const DeviceOptions& options,
                                                            const LoadProgress& progress) {
  return load_at_once<CudaDevice>(ranks.size(), progress,
                                  [&](std::size_t rank, const LoadProgress& own) {
                                    return load_gpu_rank(model, ranks, rank, options, own);
                                  });
}

/// Returns the results of `work` for each rank. If one rank fails, the ranks that wait for it fail
/// too.
template <class Device, class Work>
Result<void> together(const std::vector<std::unique_ptr<Device>>& devices, const Work& work) {
  return on_all_ranks(
      devices.size(), [&](std::size_t rank) { return work(*devices[rank], rank); },
      [&](std::size_t rank) { devices[rank]->abandon(); });
}

}  // namespace

Result<GpuRanks> open_gpu_ranks(const OpenedModel& model, const Partition& partition,
                                std::vector<std::shared_ptr<const Program>> programs,
                                const std::string& tuning) {
  auto all = cuda::make_ranks(partition.widths(), partition.host_stages());
  if (!all) return all.error();
  GpuRanks ranks;
  std::size_t number = 0;
  for (std::size_t stage = 0; stage < partition.stages.size(); ++stage) {
    for (const std::string& device : partition.stages[stage].devices) {
      std::shared_ptr<const Program> program = std::move(programs[number++]);
      if (partition.stages[stage].is_on_host()) continue;
      const auto index = cuda::device_index(device);
      if (!index) return Error{index.error().code, "partition: " + index.error().detail};
      auto runtime = cuda::open_runtime(*index);
      if (!runtime) return runtime.error();
      auto found = cuda::find_tuning(tuning, (*runtime)->properties().name, *model.program);
      if (!found) return found.error();
      ranks.places.push_back({*all, static_cast<std::int32_t>(stage), program->part.rank});
      ranks.programs.push_back(std::move(program));
      ranks.runtimes.push_back(*std::move(runtime));
      ranks.tunings.push_back(*std::move(found));
    }
  }
  return ranks;
}

Result<std::vector<std::int64_t>> free_memory(const GpuRanks& ranks) {
  std::vector<std::int64_t> all;
  for (const auto& runtime : ranks.runtimes) {
    const auto bytes = cuda::free_memory(*runtime);
    if (!bytes) return bytes.error();
    all.push_back(*bytes);
  }
  return all;
}

Result<DeviceLimits> gpu_rank_capacity(const Program& program, const CapacityWishes& wishes,
                                       const cuda::Properties& properties,
                                       std::int64_t free_bytes) {
  DeviceNeeds needs = cuda::cuda_needs(program, wishes, properties);
  needs.bytes = [bytes = std::move(needs.bytes)](const DeviceLimits& one) {
    return bytes(one) + kRankBytes;
  };
  return device_capacity(program, wishes, free_bytes, needs);
}

Result<DeviceLimits> gpu_ranks_capacity(const GpuRanks& ranks, const CapacityWishes& wishes,
                                        const std::vector<std::int64_t>& free_bytes) {
  DeviceLimits limits;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto own = gpu_rank_capacity(*ranks.programs[rank], wishes,
                                       ranks.runtimes[rank]->properties(), free_bytes[rank]);
    if (!own) {
      const cuda::CudaRank& place = ranks.places[rank];
      const auto number = cuda::rank_number(place.all->widths, place.stage, place.rank);
      return Error{own.error().code, "rank " + std::to_string(number) + ": " + own.error().detail};
    }
    limits = rank == 0 ? *own : least_of(limits, *own, wishes.slabs);
  }
  limits.stages = static_cast<std::int32_t>(ranks.places.front().all->widths.size());
  return limits;
}

Result<std::unique_ptr<CudaDevice>> load_gpu_rank(const OpenedModel& model, GpuRanks& ranks,
                                                  std::size_t rank, const DeviceOptions& options,
                                                  const LoadProgress& progress) {
  auto device = CudaDevice::load(std::move(ranks.runtimes[rank]), model.checkpoint,
                                 ranks.programs[rank], options, ranks.tunings[rank], progress);
  if (!device || !ranks.host) return device;
  const auto met = (*device)->meet(host_neighbours_of(ranks.places[rank], *ranks.host));
  if (!met) return met.error();
  return device;
}

Result<void> join_gpu_ranks(const GpuRanks& ranks,
                            const std::vector<std::unique_ptr<CudaDevice>>& devices) {
  return together(devices, [&](CudaDevice& device, std::size_t rank) {
    return device.join(ranks.places[rank]);
  });
}

Result<std::vector<std::unique_ptr<CudaStepDevice>>> make_gpu_step_ranks(
    const GpuRanks& ranks, std::vector<std::unique_ptr<CudaDevice>> devices,
    const DeviceLimits& limits, const std::vector<TokenId>& end_tokens) {
  auto made =
      load_at_once<CudaStepDevice>(devices.size(), {}, [&](std::size_t rank, const LoadProgress&) {
        return CudaStepDevice::prepare(std::move(devices[rank]), limits, end_tokens);
      });
  if (!made) return made;
  auto ready = together(*made, [&](CudaStepDevice& device, std::size_t rank) {
    return device.device().join(ranks.places[rank]);
  });
  if (ready) {
    ready = together(*made, [](CudaStepDevice& device, std::size_t) { return device.record(); });
  }
  if (!ready) return ready.error();
  return made;
}

Result<std::vector<std::unique_ptr<CudaDevice>>> load_gpu_ranks(const OpenedModel& model,
                                                                GpuRanks ranks,
                                                                const DeviceOptions& options,
                                                                const LoadProgress& progress) {
  auto devices = load_parts(model, ranks, options, progress);
  if (!devices) return devices;
  if (const auto joined = join_gpu_ranks(ranks, *devices); !joined) return joined.error();
  return devices;
}

Result<std::vector<std::unique_ptr<CudaStepDevice>>> load_gpu_step_ranks(
    const OpenedModel& model, GpuRanks ranks, const DeviceLimits& limits,
    const DeviceOptions& options, const std::vector<TokenId>& end_tokens,
    const LoadProgress& progress) {
  auto parts = load_parts(model, ranks, options, progress);
  if (!parts) return parts.error();
  return make_gpu_step_ranks(ranks, *std::move(parts), limits, end_tokens);
}

}  // namespace weft
