#pragma once

#include <cstdint>
#include <memory>

#include "weft/core/error/error.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/memory/memory_budget.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// The limits of a device within its memory, and its claim on the budget if there is one.
struct MemoryPortion {
  DeviceLimits limits;
  std::shared_ptr<MemoryClaim> claim;
};

/// Computes device_capacity() of the free memory, or of what is left of the wishes' budget. Then it
/// claims the bytes of `needs` minus `apart` bytes, which the caller claims itself. kOutOfMemory.
[[nodiscard]] Result<MemoryPortion> take_portion(const Program& program, const DeviceWishes& wishes,
                                                 const CapacityWishes& capacity,
                                                 std::int64_t free_bytes, const DeviceNeeds& needs,
                                                 std::int64_t apart = 0);

/// Returns the device, which keeps its claims for as long as it lives.
[[nodiscard]] std::shared_ptr<StepDevice> with_claim(std::unique_ptr<StepDevice> device,
                                                     const std::shared_ptr<const void>& claim);

}  // namespace weft
