#pragma once

#include <cstdint>

#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/memory/device_capacity.h"

namespace weft::cuda {

/// Returns the memory that a GPU takes for a program.
[[nodiscard]] DeviceNeeds cuda_needs(const Program& program, const CapacityWishes& wishes,
                                     const Properties& properties);

/// Returns the free bytes of the GPU's memory. kDriver.
[[nodiscard]] Result<std::int64_t> free_memory(Runtime& runtime);

/// Returns device_capacity() for a GPU.
[[nodiscard]] Result<DeviceLimits> cuda_capacity(const Program& program,
                                                 const CapacityWishes& wishes,
                                                 std::int64_t free_bytes,
                                                 const Properties& properties);

}  // namespace weft::cuda
