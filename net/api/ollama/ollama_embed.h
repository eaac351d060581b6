#pragma once

#include <simdjson.h>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// Decodes the body of POST /api/embed: `input` is a text or a list of texts, each of which gets an
/// embedding of length 1. A text that is too long is cut unless `truncate` is false. Ollama's
/// clients send a body without an input to have a model loaded; it makes no part.
///
/// Source: docs/api.md of Ollama.
[[nodiscard]] ApiResult<ApiCall> decode_ollama_embed(simdjson::dom::object body,
                                                     const ApiContext& context);

/// Decodes the body of the older POST /api/embeddings: one `prompt`. The embedding is scaled as the
/// model's files say.
[[nodiscard]] ApiResult<ApiCall> decode_ollama_embeddings(simdjson::dom::object body,
                                                          const ApiContext& context);

}  // namespace weft
