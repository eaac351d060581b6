#pragma once

#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"
#include "weft/core/mailbox/mailbox_word.h"
#include "weft/sampling/sampling_params.h"

namespace weft {

/// What a request is told when an actor could not handle its message: EngineErrc for core's
/// CoreErrc.
[[nodiscard]] Error request_failure(const Error& why);

/// What a request is told for which no token could be chosen.
[[nodiscard]] Error nothing_chosen(const SamplingParams& params);

/// What a request is told that an actor did not take. `ready` as of ActorSystem: one that is closed
/// has failed for good, or else the system stops.
[[nodiscard]] Error refusal_of(PushResult result, bool ready);

/// What a request is told that was asked to end; not for EndCause::kNone and kStop.
[[nodiscard]] Error request_ending(EndCause cause);

}  // namespace weft
