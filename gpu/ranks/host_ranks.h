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

/// What the host ranks of a partition are made with. Lists are in the order of the stages.
struct HostRanks {
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<std::int32_t> stages;  ///< which stage each is of
  DeviceOptions options;             ///< of each
  std::shared_ptr<SharedRanks> shared;
};

/// What the ranks' memory in common must hold, with steps as `options` has them; so many such
/// replicas share the processors.
[[nodiscard]] RanksLayout layout_of(const OpenedModel& model, const Partition& partition,
                                    const DeviceOptions& options, std::size_t replicas = 1);

/// What ranks on the host take together, of which `programs` are some: they have its memory in
/// common, and `shared` bytes of it are for what they exchange.
[[nodiscard]] DeviceNeeds host_ranks_needs(
    const std::vector<std::shared_ptr<const Program>>& programs, const CapacityWishes& wishes,
    std::function<std::int64_t(const DeviceLimits& limits)> shared);

/// For the ranks that are on the host of this process; those of `programs`, of all ranks, that are
/// not are passed over. Its threads, `options.threads` or all that it has, are shared out: each
/// rank has one at least. So many such replicas share the processors. kOutOfMemory.
[[nodiscard]] Result<HostRanks> plan_host_ranks(
    const OpenedModel& model, const Partition& partition,
    std::vector<std::shared_ptr<const Program>> programs, const DeviceOptions& options,
    std::size_t replicas = 1);

/// Loads one of them. Errors of HostDevice::load().
[[nodiscard]] Result<std::unique_ptr<HostDevice>> load_host_rank(const OpenedModel& model,
                                                                 const HostRanks& ranks,
                                                                 std::size_t rank,
                                                                 const LoadProgress& progress);

/// Loads all ranks at once, each on a thread of its own. Errors of loading any.
[[nodiscard]] Result<std::vector<std::unique_ptr<HostDevice>>> load_host_ranks(
    const OpenedModel& model, const HostRanks& ranks, const LoadProgress& progress);

}  // namespace weft
