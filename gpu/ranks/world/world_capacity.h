#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/memory/memory_portion.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/world/rank_setup.h"
#include "weft/model/open_model.h"

namespace weft {

/// Returns the limits that fit on every rank of a partition in several processes: the limits of the
/// rank with the least room. Ranks on the host of one machine share its memory. `rooms` and
/// `programs` are by rank. Memory on the machine of rank `own` is taken from the wishes' budget.
/// Errors of device_capacity(), which name a rank.
[[nodiscard]] Result<MemoryPortion> world_capacity(
    const OpenedModel& model, const Partition& partition,
    const std::vector<std::shared_ptr<const Program>>& programs, const DeviceWishes& wishes,
    const CapacityWishes& capacity, const std::vector<RankRoom>& rooms, std::size_t own);

/// Returns how many ranks are on the machine of rank `index`, that rank included.
[[nodiscard]] std::int32_t neighbours_of(const std::vector<RankRoom>& rooms, std::size_t index);

}  // namespace weft
