#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/request/prompt_logprobs.h"
#include "weft/actors/request/prompt_tokens.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The settings of an answer of the chat and text completion APIs, besides its text.
struct CompletionOptions {
  std::string id{};  ///< the whole id: "chatcmpl-...", "cmpl-..."
  std::int64_t created = 0;
  std::string model{};
  std::string service_tier{};  ///< the tier that the request asked for: "default", "flex"; empty =
                               ///< none
  bool stream = false;
  bool include_usage = false;    ///< stream_options.include_usage: one more chunk with no choices
  bool usage_in_chunks = false;  ///< stream_options.continuous_usage_stats: every chunk has it
  bool logprobs = false;
  std::int32_t top_logprobs = 0;
  std::int32_t outputs_per_part = 1;  ///< output c of part p is choice p * outputs_per_part + c
  std::vector<std::string> echo{};    ///< text completions: each part's prompt, put before its text
  /// The logprobs of each part's prompt; empty where the request asked for none.
  std::vector<std::shared_ptr<const PromptLogprobs>> prompt_logprobs{};
  bool echo_logprobs = false;     ///< text completions: prompt logprobs stand before the output's
  bool echo_has_special = false;  ///< the echo shows the prompt's special tokens
  std::int32_t prompt_top = -1;   ///< vLLM's prompt_logprobs; negative: none
  bool token_ids = false;         ///< vLLM's return_token_ids: ids of the prompt and of each output
  bool tokens_as_ids = false;     ///< logprobs call a token "token_id:5"
  /// The prompt tokens of each part; only with token_ids.
  std::vector<std::shared_ptr<const PromptTokens>> prompt_ids{};
  /// The answer names a call in the older field `function_call`.
  bool older_calls = false;
  /// False: the answer has no output, although the engine generated one token.
  bool generate = true;
};

/// Asks the engine for the token ids of the parts' prompts, where the answer includes them.
void ask_for_prompt_ids(CompletionOptions& options, std::vector<Request>& parts);

/// Takes `model`, `stream`, `stream_options`, `return_token_ids` and the other fields that begin
/// every answer of the chat and text completion APIs. Mistakes stay in `fields`.
[[nodiscard]] CompletionOptions take_options(BodyFields& fields, const ApiContext& context,
                                             std::string_view id_prefix);

}  // namespace weft
