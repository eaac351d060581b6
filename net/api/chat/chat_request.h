#pragma once

#include <simdjson.h>

#include "weft/net/api/completions/completion_request.h"

namespace weft {

/// decode_chat() without its writer.
[[nodiscard]] ApiResult<CompletionRequest> read_chat(simdjson::dom::object body,
                                                     const ApiContext& context);

}  // namespace weft
