#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// A plan as bytes for ranks of other processes on machines of the same byte order. What only the
/// rank that chooses tokens needs stays behind: how tokens are chosen, and the readers, of whom the
/// others only know that they want logits. Replaces what `bytes` holds; keeps its memory.
void encode_plan(const Plan& plan, std::vector<std::byte>& bytes);

/// Reads such bytes into `plan`. Every index is held against `limits` and against the plan's own
/// lists, so that what a device does with it stays within its memory. ByteErrc, or
/// DeviceErrc::kOutOfRange naming the list.
[[nodiscard]] Result<void> decode_plan(std::span<const std::byte> bytes, const DeviceLimits& limits,
                                       Plan& plan);

}  // namespace weft
