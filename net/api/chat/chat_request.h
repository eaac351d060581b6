#pragma once

#include <simdjson.h>

#include "weft/net/api/completions/completion_request.h"

namespace weft {

/// The part of decode_chat() that reads the body, without a writer.
[[nodiscard]] ApiResult<CompletionRequest> read_chat(simdjson::dom::object body,
                                                     const ApiContext& context);

}  // namespace weft
