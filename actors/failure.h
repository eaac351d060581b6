#pragma once

#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"
#include "weft/core/mailbox/mailbox_word.h"

namespace weft {

struct ChoiceFailure;
struct GroupSpec;

/// Returns the error for a request whose message an actor could not handle: an EngineErrc for
/// core's CoreErrc. The detail is missing if there is no memory for it.
[[nodiscard]] Error request_failure(Error&& why) noexcept;
[[nodiscard]] Error request_failure(const Error& why) noexcept;

/// The error for a request for which no token could be chosen. `why` may be null.
[[nodiscard]] Error nothing_chosen(const GroupSpec& spec, const ChoiceFailure* why);

/// Returns the error for a request that an actor did not take. `ready` is ActorSystem::ready(): if
/// it is false, a closed actor has failed permanently; otherwise the system stops.
[[nodiscard]] Error refusal_of(PushResult result, bool ready);

/// Returns the error for a request that was asked to end; not for EndCause::kNone and kStop.
[[nodiscard]] Error request_ending(EndCause cause);

}  // namespace weft
