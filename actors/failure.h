#pragma once

#include "weft/actors/active_request.h"
#include "weft/core/error.h"

namespace weft {

/// What a request is told when an actor could not handle its message: EngineErrc for core's
/// CoreErrc.
[[nodiscard]] Error request_failure(const Error& why);

/// What a request is told that was asked to end; not for EndCause::kNone and kStop.
[[nodiscard]] Error request_ending(EndCause cause);

}  // namespace weft
