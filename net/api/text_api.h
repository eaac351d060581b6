#pragma once

#include <simdjson.h>

#include <string>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// Answers POST /tokenize. A body {"prompt": text, "add_special_tokens": true, "return_token_strs":
/// false} or {"messages": [...], "add_generation_prompt": true, "chat_template_kwargs": {}} gives
/// {"tokens", "count", "max_model_len", "token_strs"}, as in vLLM. A body of llama.cpp's form is
/// {"content": text, "add_special": false, "parse_special": true, "with_pieces": false}. Returns
/// the body of the answer. The time grows with the text, so do not call it on a thread that others
/// wait for.
[[nodiscard]] ApiResult<std::string> tokenize(simdjson::dom::object body, const ModelCard& card);

/// Answers POST /v1/chat/completions/render: takes the body of a chat completion, and returns the
/// prompt that the model's template makes of it: {"count", "max_model_len", "prompt", "tokens"}.
/// The prompt is shown with its special tokens. The time grows with the conversation.
[[nodiscard]] ApiResult<std::string> render_chat(simdjson::dom::object body,
                                                 const ApiContext& context);

/// Answers POST /detokenize: {"tokens": [...]}, of at most 4 MiB of text, gives {"prompt": text,
/// "content": text}. Returns the body of the answer.
[[nodiscard]] ApiResult<std::string> detokenize(simdjson::dom::object body, const ModelCard& card);

/// Returns the body of GET /tokenizer_info in vLLM's form. It has the names of
/// tokenizer_config.json, for clients that send token ids (lm-eval). The template is the Jinja
/// text, or null.
[[nodiscard]] std::string tokenizer_info_body(const ModelCard& card);

/// Returns the body of GET /v1/models or, for one model, of GET /v1/models/{name}. It has the
/// fields that clients of OpenAI's, Anthropic's, vLLM's and llama.cpp's APIs look for. A model's
/// adapters follow it, with the model as their `parent`. A model that is not loaded has its state,
/// and a failed one the reason.
[[nodiscard]] std::string models_body(const ModelList& list);
[[nodiscard]] std::string model_body(const ModelCard& card);

}  // namespace weft
