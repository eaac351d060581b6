#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/actors/served_model.h"
#include "weft/core/error/error.h"

namespace weft {

/// All that the scheduler and the detokenizer need of a request. Changes the request: max_tokens
/// gets its number. `seed` is for a request that has none. Errors: kBadRequest naming the
/// parameter, kContextLengthExceeded with the numbers. The ticket stays where it is when it fails.
[[nodiscard]] Result<std::unique_ptr<RequestGroup>> prepare_request(RequestTicket& ticket,
                                                                    const ServedModel& model,
                                                                    std::chrono::local_seconds now,
                                                                    std::uint64_t seed);

}  // namespace weft
