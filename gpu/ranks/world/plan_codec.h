#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// Encodes a plan as bytes for ranks of other processes, on machines with the same byte order. It
/// omits what only the rank that chooses tokens needs: the sampling parameters, and the readers,
/// except that they want logits. Adapters stay in their process too, so a sequence with an adapter
/// is refused when the plan is decoded. Overwrites `bytes` and reuses its memory.
void encode_plan(const Plan& plan, std::vector<std::byte>& bytes);

/// Decodes such bytes into `plan`. It checks every index against `limits` and the plan's own lists,
/// so that a device that uses the plan stays within its memory. ByteErrc, or
/// DeviceErrc::kOutOfRange naming the list.
[[nodiscard]] Result<void> decode_plan(std::span<const std::byte> bytes, const DeviceLimits& limits,
                                       Plan& plan);

}  // namespace weft
