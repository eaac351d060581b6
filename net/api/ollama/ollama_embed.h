#pragma once

#include <simdjson.h>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// Decodes the body of POST /api/embed: `input` is a text or a list of texts, each of which gets an
/// embedding of length 1; a text that is too long is cut unless `truncate` is false. Without an
/// input, by which Ollama's clients have a model loaded, there is no part.
///
/// Source: docs/api.md of Ollama.
[[nodiscard]] ApiResult<ApiCall> decode_ollama_embed(simdjson::dom::object body,
                                                     const ApiContext& context);

/// The older POST /api/embeddings: one `prompt`, whose embedding has the length that the model's
/// files say.
[[nodiscard]] ApiResult<ApiCall> decode_ollama_embeddings(simdjson::dom::object body,
                                                          const ApiContext& context);

}  // namespace weft
