#pragma once

#include "weft/core/error.h"

namespace weft {

/// What a request is told when an actor could not handle its message: EngineErrc for core's
/// CoreErrc.
[[nodiscard]] Error request_failure(const Error& why);

}  // namespace weft
