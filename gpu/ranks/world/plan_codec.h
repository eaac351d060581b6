#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// Encodes a plan as bytes for ranks of other processes, on machines of the same byte order. It
/// leaves out what only the rank that chooses tokens needs: how tokens are chosen, and the readers,
/// of which other ranks learn only that they want logits. Adapters stay in their process as well,
/// so a sequence with one is refused where the plan is decoded. Overwrites `bytes` and keeps its
/// memory.
void encode_plan(const Plan& plan, std::vector<std::byte>& bytes);

/// Decodes such bytes into `plan`. Every index is checked against `limits` and the plan's own
/// lists, so that a device that uses it stays within its memory. ByteErrc, or
/// DeviceErrc::kOutOfRange naming the list.
[[nodiscard]] Result<void> decode_plan(std::span<const std::byte> bytes, const DeviceLimits& limits,
                                       Plan& plan);

}  // namespace weft
