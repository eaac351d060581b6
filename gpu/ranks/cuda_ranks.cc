#include "weft/gpu/ranks/cuda_ranks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/gpu/cuda/cuda_capacity.h"
#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/tuning/find_tuning.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/load_at_once.h"

namespace weft {
namespace {

using cuda::CudaDevice;
using cuda::CudaStepDevice;

// What NCCL keeps on a GPU for its channels: some hundred MiB for each of up to four communicators.
constexpr std::int64_t kRankBytes = std::int64_t{1} << 30U;

cuda::CudaRank place_of(const GpuRanks& ranks, std::size_t rank) {
  std::int32_t stage = 0;
  auto place = static_cast<std::int32_t>(rank);
  while (place >= ranks.all->widths[static_cast<std::size_t>(stage)]) {
    place -= ranks.all->widths[static_cast<std::size_t>(stage++)];
  }
  return {ranks.all, stage, place};
}

Result<std::vector<std::unique_ptr<CudaDevice>>> load_parts(const OpenedModel& model,
                                                            GpuRanks& ranks,
                                                            const DeviceOptions& options,
                                                            const LoadProgress& progress) {
  return load_at_once<CudaDevice>(
      ranks.programs.size(), progress, [&](std::size_t rank, const LoadProgress& own) {
        return CudaDevice::load(std::move(ranks.runtimes[rank]), model.checkpoint,
                                ranks.programs[rank], options, ranks.tunings[rank], own);
      });
}

/// What `work` gives for each rank; one that fails takes along all that wait for it.
template <class Device, class Work>
Result<void> together(std::vector<std::unique_ptr<Device>>& devices, const Work& work) {
  return on_all_ranks(
      devices.size(), [&](std::size_t rank) { return work(*devices[rank], rank); },
      [&](std::size_t rank) { devices[rank]->abandon(); });
}

}  // namespace

Result<GpuRanks> open_gpu_ranks(const OpenedModel& model, const Partition& partition,
                                std::vector<std::shared_ptr<const Program>> programs,
                                const std::string& tuning) {
  GpuRanks ranks;
  ranks.programs = std::move(programs);
  for (const Partition::Stage& stage : partition.stages) {
    for (const std::string& device : stage.devices) {
      const auto index = cuda::device_index(device);
      if (!index) return Error{index.error().code, "partition: " + index.error().detail};
      auto runtime = cuda::open_runtime(*index);
      if (!runtime) return runtime.error();
      auto found = cuda::find_tuning(tuning, (*runtime)->properties().name, *model.program);
      if (!found) return found.error();
      ranks.runtimes.push_back(*std::move(runtime));
      ranks.tunings.push_back(*std::move(found));
    }
  }
  auto all = cuda::make_ranks(partition.widths());
  if (!all) return all.error();
  ranks.all = *std::move(all);
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

Result<DeviceLimits> gpu_ranks_capacity(const GpuRanks& ranks, const CapacityWishes& wishes,
                                        const std::vector<std::int64_t>& free_bytes) {
  if (const auto fits = cuda::check_kv_dtype(wishes.kv_dtype); !fits) return fits.error();
  DeviceLimits limits;
  for (std::size_t rank = 0; rank < ranks.programs.size(); ++rank) {
    const Program& program = *ranks.programs[rank];
    DeviceNeeds needs = cuda::cuda_needs(program, wishes, ranks.runtimes[rank]->properties());
    needs.bytes = [bytes = std::move(needs.bytes)](const DeviceLimits& one) {
      return bytes(one) + kRankBytes;
    };
    const auto own = device_capacity(program, wishes, free_bytes[rank], needs);
    if (!own) {
      return Error{own.error().code, "rank " + std::to_string(rank) + ": " + own.error().detail};
    }
    limits = rank == 0 ? *own : least_of(limits, *own, wishes.slabs);
  }
  limits.stages = static_cast<std::int32_t>(ranks.all->widths.size());
  return limits;
}

Result<std::vector<std::unique_ptr<CudaDevice>>> load_gpu_ranks(const OpenedModel& model,
                                                                GpuRanks ranks,
                                                                const DeviceOptions& options,
                                                                const LoadProgress& progress) {
  auto devices = load_parts(model, ranks, options, progress);
  if (!devices) return devices;
  const auto joined = together(*devices, [&](CudaDevice& device, std::size_t rank) {
    return device.join(place_of(ranks, rank));
  });
  if (!joined) return joined.error();
  return devices;
}

Result<std::vector<std::unique_ptr<CudaStepDevice>>> load_gpu_step_ranks(
    const OpenedModel& model, GpuRanks ranks, const DeviceLimits& limits,
    const DeviceOptions& options, const std::vector<TokenId>& end_tokens,
    const LoadProgress& progress) {
  auto parts = load_parts(model, ranks, options, progress);
  if (!parts) return parts.error();
  auto devices =
      load_at_once<CudaStepDevice>(parts->size(), {}, [&](std::size_t rank, const LoadProgress&) {
        return CudaStepDevice::prepare(std::move((*parts)[rank]), limits, end_tokens);
      });
  if (!devices) return devices;
  auto ready = together(*devices, [&](CudaStepDevice& device, std::size_t rank) {
    return device.device().join(place_of(ranks, rank));
  });
  if (ready) {
    ready = together(*devices, [](CudaStepDevice& device, std::size_t) { return device.record(); });
  }
  if (!ready) return ready.error();
  return devices;
}

}  // namespace weft
