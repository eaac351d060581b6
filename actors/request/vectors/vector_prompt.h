#pragma once

#include <memory>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"

namespace weft {

/// Prepares a request for a vector (Request::vector): a ResultReader reads its computed prompt, and
/// no token is chosen. Errors: kBadRequest names the parameter, or says that this model gives no
/// vector of this kind; kContextLengthExceeded has the numbers. On failure the ticket is
/// unchanged. `adapter` is its sequence's; null: none.
[[nodiscard]] Result<std::unique_ptr<RequestGroup>> prepare_vector_request(
    RequestTicket& ticket, const ServedModel& model,
    const std::shared_ptr<const PreparedAdapter>& adapter);

}  // namespace weft
