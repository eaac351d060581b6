#pragma once

#include <cstddef>

#include "weft/core/dtype.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/step_device.h"
#include "weft/model/program/program.h"

namespace weft {

/// Returns the options of a ModelDevice that carries out plans within `limits`. `threads` is the
/// host's.
[[nodiscard]] DeviceOptions step_options(const Program& program, const DeviceLimits& limits,
                                         DType kv_dtype, int threads = 0);

/// Returns how many threads make masks for one device (MaskWorkers): half of the threads that can
/// run at once, and at most four, since all share the lock under which a grammar's states are made.
[[nodiscard]] std::size_t mask_threads();

}  // namespace weft
