#pragma once

#include <simdjson.h>

#include <memory>

#include "weft/net/api/api_call.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// Decodes the body of POST /v1/chat/completions. The error names the field: a value out of range,
/// a feature that Weft does not have (tools, response formats other than text, parts that are not
/// text), or an unknown field that could change the output.
///
/// Source: OpenAI's API reference, "Create chat completion"; vLLM's extra parameters.
[[nodiscard]] ApiResult<ApiCall> decode_chat(simdjson::dom::object body, const ApiContext& context);

/// Makes a writer of chat.completion, or of chat.completion.chunk events and [DONE].
[[nodiscard]] std::unique_ptr<ReplyWriter> make_chat_writer(
    CompletionOptions options, std::shared_ptr<const ServedModel> model);

}  // namespace weft
