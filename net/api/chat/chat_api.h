#pragma once

#include <simdjson.h>

#include <memory>

#include "weft/net/api/api_call.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// POST /v1/chat/completions. Refused by name: what is out of range, what Weft cannot do (tools,
/// response formats other than text, parts that are not text), and what it does not know and could
/// change the output.
///
/// Source: OpenAI's API reference, "Create chat completion"; vLLM's extra parameters.
[[nodiscard]] ApiResult<ApiCall> decode_chat(simdjson::dom::object body, const ApiContext& context);

/// chat.completion, or chat.completion.chunk events and [DONE].
[[nodiscard]] std::unique_ptr<ReplyWriter> make_chat_writer(
    CompletionOptions options, std::shared_ptr<const ServedModel> model);

}  // namespace weft
