#pragma once

#include <simdjson.h>

#include <memory>

#include "weft/net/api/api_call.h"
#include "weft/net/api/ollama/ollama_request.h"

namespace weft {

/// Decodes the body of POST /api/chat, or of POST /api/generate. The error names the field: a value
/// out of range, a feature that Weft does not have, or an unknown field that could change the
/// output. Ollama's clients send a body without messages or a prompt to have a model loaded; it is
/// answered without the engine.
///
/// Source: docs/api.md of Ollama.
[[nodiscard]] ApiResult<ApiCall> decode_ollama_chat(simdjson::dom::object body,
                                                    const ApiContext& context);
[[nodiscard]] ApiResult<ApiCall> decode_ollama_generate(simdjson::dom::object body,
                                                        const ApiContext& context);

/// Makes a writer of one object, or of an object for each piece of the output and a last one.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_ollama_writer(
    OllamaOptions options, std::shared_ptr<const ServedModel> model);

}  // namespace weft
