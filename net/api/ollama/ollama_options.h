#pragma once

#include "weft/actors/request/request.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Takes `options` of Ollama's API: the sampling table under Ollama's names (repeat_penalty,
/// repeat_last_n, mirostat), `num_predict`, `stop`, and fields that change nothing. Absent options
/// have the server's defaults, not Ollama's. Mistakes stay in `fields`.
[[nodiscard]] Request take_ollama_options(BodyFields& fields, const ApiContext& context);

}  // namespace weft
