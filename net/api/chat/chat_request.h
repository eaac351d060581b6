#pragma once

#include <simdjson.h>

#include "weft/net/api/completions/completion_request.h"

namespace weft {

/// Reads the body for decode_chat(), without making a writer.
[[nodiscard]] ApiResult<CompletionRequest> read_chat(simdjson::dom::object body,
                                                     const ApiContext& context);

}  // namespace weft
