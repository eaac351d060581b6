#pragma once

#include <memory>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"

namespace weft {

/// Makes all that the pipeline needs of a request for a vector (Request::vector): its prompt is
/// computed, read by a ResultReader, and nothing is chosen. Errors: kBadRequest names the
/// parameter, or says that this model gives no such vector; kContextLengthExceeded has the numbers.
/// When it fails, the ticket is left as it was.
[[nodiscard]] Result<std::unique_ptr<RequestGroup>> prepare_vector_request(
    RequestTicket& ticket, const ServedModel& model);

}  // namespace weft
