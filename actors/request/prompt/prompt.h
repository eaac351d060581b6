#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"
#include "weft/gpu/device_adapter.h"

namespace weft {

/// Refuses without tokenizing a prompt that is too long in any case: with more token ids than
/// the context has positions, or of a text that must have more tokens. kContextLengthExceeded,
/// as from prepare_request(). Does not check prompts of requests for vectors and of
/// conversations.
[[nodiscard]] Result<void> check_prompt_length(const Request& request, const ServedModel& model);

/// Prepares a request for the scheduler and the detokenizer. It sets the request's max_tokens.
/// `seed` is for a request without one, `adapter` its sequences'; null: none. Errors: kBadRequest
/// names the parameter, kContextLengthExceeded has the numbers. On failure the ticket is unchanged.
[[nodiscard]] Result<std::unique_ptr<RequestGroup>> prepare_request(
    RequestTicket& ticket, const ServedModel& model, std::chrono::local_seconds now,
    std::uint64_t seed, const std::shared_ptr<const PreparedAdapter>& adapter = nullptr);

}  // namespace weft
