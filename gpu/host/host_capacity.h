#pragma once

#include <cstdint>

#include "weft/gpu/memory/device_capacity.h"

namespace weft {

/// Returns the memory that the host takes for a program.
[[nodiscard]] DeviceNeeds host_needs(const Program& program, const CapacityWishes& wishes);

/// Returns device_capacity() for the host.
[[nodiscard]] Result<DeviceLimits> host_capacity(const Program& program,
                                                 const CapacityWishes& wishes,
                                                 std::int64_t free_bytes);

}  // namespace weft
