#pragma once

#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The fields that say whether, how hard and how long a model thinks. Each function leaves mistakes
/// in `fields`, and keeps variables of the template that the request has set itself.

/// Tells the template whether the model shall think, under all names that families have for it.
void set_thinking(Request& request, bool wanted);

/// Takes `reasoning_effort`, or `effort` of a `reasoning` object. Sets the template's variables
/// reasoning_effort, and enable_thinking and thinking, which "none" makes false. Where the template
/// knows no reasoning_effort, "minimal" makes them false, too, and any more effort makes them true.
/// For a template that knows none of the three, "none" and "minimal" bound thoughts to no tokens,
/// unless a budget has been taken.
void take_reasoning_effort(BodyFields& fields, std::string_view name,
                           std::string_view chat_template, Request& request);

/// Takes `effort` of Anthropic's clients, which is any text and does not turn on thoughts by
/// itself. A template that knows a reasoning_effort gets low, medium or high; xhigh and max become
/// high.
void take_wished_effort(const BodyFields& fields, std::string_view chat_template, Request& request);

/// Takes `thinking` in the form of Anthropic's, GLM's and DeepSeek's clients: enabled with
/// `budget_tokens` (optional unless `needs_budget`), disabled or adaptive. Returns whether thoughts
/// are to be shown.
bool take_thinking(const BodyFields& fields, bool needs_budget, Request& request);

/// Takes `thinking_token_budget` of vLLM's clients, or `thinking_budget` of Qwen's: tokens of
/// thoughts, -1 for any number.
void take_thinking_budget(BodyFields& fields, Request& request);

}  // namespace weft
