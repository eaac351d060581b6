#pragma once

#include <cstdint>

#include "weft/gpu/memory/device_capacity.h"

namespace weft {

/// What the host takes memory for.
[[nodiscard]] DeviceNeeds host_needs(const Program& program, const CapacityWishes& wishes);

/// device_capacity() of the host.
[[nodiscard]] Result<DeviceLimits> host_capacity(const Program& program,
                                                 const CapacityWishes& wishes,
                                                 std::int64_t free_bytes);

}  // namespace weft
