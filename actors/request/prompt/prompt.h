#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"

namespace weft {

/// Makes all that the scheduler and the detokenizer need of a request. It changes the request:
/// max_tokens gets its number. `seed` is for a request that has none. Errors: kBadRequest names the
/// parameter, kContextLengthExceeded has the numbers. When it fails, the ticket is left as it was.
[[nodiscard]] Result<std::unique_ptr<RequestGroup>> prepare_request(RequestTicket& ticket,
                                                                    const ServedModel& model,
                                                                    std::chrono::local_seconds now,
                                                                    std::uint64_t seed);

}  // namespace weft
