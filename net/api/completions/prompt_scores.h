#pragma once

#include <cstddef>
#include <string>

#include "weft/net/api/completions/completion_request.h"
#include "weft/net/api/fields/body_fields.h"

/// The logprobs of prompts in the chat and text completion APIs.
namespace weft {

/// Takes vLLM's `prompt_logprobs`. As in vLLM, a stream allows no value above 0.
void take_prompt_logprobs(BodyFields& fields, CompletionOptions& options);

/// Asks for the logprobs of each part's prompt, where the options want them. `echoed_top` is the
/// number of most probable tokens that an echo has at each position, negative where there is no
/// echo. `times` is how often the answer repeats the logprobs. All prompts together get at most
/// kMaxPromptLogprobs, divided among them.
void ask_for_prompt_logprobs(CompletionRequest& request, std::int32_t echoed_top,
                             std::int32_t times);

/// Appends ,"prompt_logprobs":[null,{"ID":{"logprob","rank","decoded_token"},...},...] in vLLM's
/// form, where the request has the field. The first token has null. Every other token has itself
/// and as many of the most probable tokens as the request wants.
void append_prompt_logprobs(const CompletionOptions& options, std::size_t part,
                            const ServedModel& model, std::string& out);

}  // namespace weft
