#pragma once

#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The fields that say whether, how hard and how long a model thinks. Each leaves mistakes in
/// `fields`; a variable of the template that the request has set itself stays.

/// Says to the template whether the model shall think, by the names that families have for it.
void set_thinking(Request& request, bool wanted);

/// Takes `reasoning_effort`, or `effort` of a `reasoning` object, to the template's variables: as
/// reasoning_effort, and as enable_thinking and thinking, which "none" makes false. Where the
/// template knows no reasoning_effort, so does "minimal", and any more asks it to think. A template
/// that knows none of the three gets thoughts of no tokens instead, unless a budget has been taken.
void take_reasoning_effort(BodyFields& fields, std::string_view name,
                           std::string_view chat_template, Request& request);

/// Takes `effort` of Anthropic's clients, any text, which does not turn on thoughts by itself: a
/// template that knows a reasoning_effort gets low, medium or high; xhigh and max become high.
void take_wished_effort(const BodyFields& fields, std::string_view chat_template, Request& request);

/// Takes `thinking` as Anthropic's clients, and those of GLM and DeepSeek, write it: enabled with
/// `budget_tokens` (which may be left out unless `needs_budget`), disabled or adaptive. Returns
/// whether thoughts are to be shown.
bool take_thinking(const BodyFields& fields, bool needs_budget, Request& request);

/// Takes `thinking_token_budget`, as vLLM's clients write it, or `thinking_budget`, as Qwen's do:
/// tokens of thoughts, -1 for any number.
void take_thinking_budget(BodyFields& fields, Request& request);

}  // namespace weft
