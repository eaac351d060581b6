#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"

namespace weft {

/// Finds what can be refused without tokenizing: a prompt of more token ids than the context has
/// positions, or of a text that has more tokens whatever it says. kContextLengthExceeded, as
/// prepare_request() says it. Prompts of requests for vectors and of conversations are not looked
/// at.
[[nodiscard]] Result<void> check_prompt_length(const Request& request, const ServedModel& model);

/// Makes all that the scheduler and the detokenizer need of a request. It changes the request:
/// max_tokens gets its number. `seed` is for a request that has none. Errors: kBadRequest names the
/// parameter, kContextLengthExceeded has the numbers. When it fails, the ticket is left as it was.
[[nodiscard]] Result<std::unique_ptr<RequestGroup>> prepare_request(RequestTicket& ticket,
                                                                    const ServedModel& model,
                                                                    std::chrono::local_seconds now,
                                                                    std::uint64_t seed);

}  // namespace weft
