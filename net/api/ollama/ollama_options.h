#pragma once

#include "weft/actors/request/request.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Takes `options` of Ollama's API: the sampling table under Ollama's names (repeat_penalty,
/// repeat_last_n, mirostat), `num_predict`, `stop`, and what changes nothing. What is not said is
/// the server's default, as in the other APIs, and not Ollama's. Mistakes stay in `fields`.
[[nodiscard]] Request take_ollama_options(BodyFields& fields, const ApiContext& context);

}  // namespace weft
