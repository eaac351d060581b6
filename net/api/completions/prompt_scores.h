#pragma once

#include <cstddef>
#include <string>

#include "weft/net/api/completions/completion_request.h"
#include "weft/net/api/fields/body_fields.h"

/// The logprobs of prompts in the chat and text completion APIs.
namespace weft {

/// Takes `prompt_logprobs`, which is vLLM's. Not above 0 with a stream, as there.
void take_prompt_logprobs(BodyFields& fields, CompletionOptions& options);

/// Asks for the logprobs of each part's prompt, where the options want them: `echoed_top` are the
/// most probable tokens that an echo has at each position, negative where there is none.
/// `times`: how often the answer has them. All of them together are at most kMaxPromptLogprobs, of
/// which each prompt has its share.
void ask_for_prompt_logprobs(CompletionRequest& request, std::int32_t echoed_top,
                             std::int32_t times);

/// Appends ,"prompt_logprobs":[null,{"ID":{"logprob","rank","decoded_token"},...},...] as vLLM has
/// it, where the request has the field: null for the first token; of the others the token itself
/// and as many of the most probable ones as were asked for.
void append_prompt_logprobs(const CompletionOptions& options, std::size_t part,
                            const ServedModel& model, std::string& out);

}  // namespace weft
