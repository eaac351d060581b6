#pragma once

#include <simdjson.h>

#include <string>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// POST /tokenize: {"prompt": text, "add_special_tokens": true, "return_token_strs": false} or
/// {"messages": [...], "add_generation_prompt": true, "chat_template_kwargs": {}} gives {"tokens",
/// "count", "max_model_len", "token_strs"}, as in vLLM; so does llama.cpp's {"content": text,
/// "add_special": false, "parse_special": true, "with_pieces": false}. Returns the body of the
/// answer. It takes as long as the text is long, so it is not for a thread that others wait for.
[[nodiscard]] ApiResult<std::string> tokenize(simdjson::dom::object body, const ModelCard& card);

/// POST /v1/chat/completions/render: takes the body of a chat completion, and returns the prompt
/// that the model's template makes of it: {"count", "max_model_len", "prompt", "tokens"}. The
/// prompt is shown with its special tokens. It takes as long as the conversation is long.
[[nodiscard]] ApiResult<std::string> render_chat(simdjson::dom::object body,
                                                 const ApiContext& context);

/// POST /detokenize: {"tokens": [...]}, of at most 4 MiB of text, gives {"prompt": text, "content":
/// text}. Returns the body of the answer.
[[nodiscard]] ApiResult<std::string> detokenize(simdjson::dom::object body, const ModelCard& card);

/// Returns the body of GET /tokenizer_info, as vLLM has it: the names of tokenizer_config.json, for
/// clients that tokenize on this server (lm-eval). The template is Jinja's, or null.
[[nodiscard]] std::string tokenizer_info_body(const ModelCard& card);

/// Returns the body of GET /v1/models and, for one model, of GET /v1/models/{name}: with what
/// clients of OpenAI's and of Anthropic's API look for, those of vLLM and of llama.cpp among them.
/// A model that is not loaded says what its state is, and where it has failed why.
[[nodiscard]] std::string models_body(const ModelList& list);
[[nodiscard]] std::string model_body(const ModelCard& card);

}  // namespace weft
