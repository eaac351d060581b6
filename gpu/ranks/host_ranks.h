#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/load_progress.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/shared_ranks.h"
#include "weft/model/open_model.h"

namespace weft {

/// The data from which a partition's host ranks are made. Lists are in the order of the stages.
struct HostRanks {
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<std::int32_t> stages;  ///< the stage of each rank
  DeviceOptions options;             ///< options of each rank
  std::shared_ptr<SharedRanks> shared;
};

/// Returns the sizes of the ranks' shared memory, for steps with `options`. `replicas` replicas
/// share the processors.
[[nodiscard]] RanksLayout layout_of(const OpenedModel& model, const Partition& partition,
                                    const DeviceOptions& options, std::size_t replicas = 1);

/// Returns the memory that ranks on the host take together; `programs` are some of these ranks.
/// They share the host's memory, and exchange numbers through `shared` bytes of it.
[[nodiscard]] DeviceNeeds host_ranks_needs(
    const std::vector<std::shared_ptr<const Program>>& programs, const CapacityWishes& wishes,
    std::function<std::int64_t(const DeviceLimits& limits)> shared);

/// Plans this process's ranks on the host; other ranks among `programs` are skipped. The threads,
/// `options.threads` or all of the host, are divided among the ranks, at least one for each.
/// `replicas` such replicas share the processors. kOutOfMemory.
[[nodiscard]] Result<HostRanks> plan_host_ranks(
    const OpenedModel& model, const Partition& partition,
    std::vector<std::shared_ptr<const Program>> programs, const DeviceOptions& options,
    std::size_t replicas = 1);

/// Loads one of the ranks. Errors of HostDevice::load().
[[nodiscard]] Result<std::unique_ptr<HostDevice>> load_host_rank(const OpenedModel& model,
                                                                 const HostRanks& ranks,
                                                                 std::size_t rank,
                                                                 const LoadProgress& progress);

/// Loads all ranks at once, each on its own thread. Errors of loading any rank.
[[nodiscard]] Result<std::vector<std::unique_ptr<HostDevice>>> load_host_ranks(
    const OpenedModel& model, const HostRanks& ranks, const LoadProgress& progress);

}  // namespace weft
