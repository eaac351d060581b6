#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <string>

#include "weft/net/api/api_call.h"

namespace weft {

/// POST /v1/chat/completions. Refused by name: what is out of range, what Weft cannot do (tools,
/// response formats other than text, parts that are not text), and what it does not know and could
/// change the output.
///
/// Source: OpenAI's API reference, "Create chat completion"; vLLM's extra parameters.
[[nodiscard]] ApiResult<ApiCall> decode_chat(simdjson::dom::object body, const ApiContext& context);

/// What an answer of the chat and text completion APIs says besides the text.
struct CompletionOptions {
  std::string id{};  ///< whole: "chatcmpl-...", "cmpl-..."
  std::int64_t created = 0;
  std::string model{};
  std::string service_tier{};  ///< echoed when the request had one: "default", "flex"
  bool stream = false;
  bool include_usage = false;  ///< stream_options.include_usage: one more chunk with no choices
  bool logprobs = false;
  std::int32_t top_logprobs = 0;
  std::int32_t outputs_per_part = 1;  ///< output c of part p is choice p * outputs_per_part + c
  std::vector<std::string> echo{};    ///< text completions: each part's prompt, put before its text
};

/// chat.completion, or chat.completion.chunk events and [DONE].
[[nodiscard]] std::unique_ptr<ReplyWriter> make_chat_writer(
    CompletionOptions options, std::shared_ptr<const ServedModel> model);

}  // namespace weft
