#pragma once

#include <cstdint>
#include <memory>

#include "weft/core/error/error.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/memory/memory_budget.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// What may be taken, and its claim on the budget if there is one.
struct MemoryPortion {
  DeviceLimits limits;
  std::shared_ptr<MemoryClaim> claim;
};

/// device_capacity() of what is free, or of what the wishes' budget has left; then `needs` of that
/// are claimed, but for `apart` bytes of them, which the caller claims himself. kOutOfMemory.
[[nodiscard]] Result<MemoryPortion> take_portion(const Program& program, const DeviceWishes& wishes,
                                                 const CapacityWishes& capacity,
                                                 std::int64_t free_bytes, const DeviceNeeds& needs,
                                                 std::int64_t apart = 0);

/// The device, which keeps its claims for as long as it lives.
[[nodiscard]] std::shared_ptr<StepDevice> with_claim(std::unique_ptr<StepDevice> device,
                                                     const std::shared_ptr<const void>& claim);

}  // namespace weft
