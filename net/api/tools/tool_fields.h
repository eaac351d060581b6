#pragma once

#include <cstdint>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// How an API writes a function.
enum class ToolDialect : std::uint8_t {
  kChat,       ///< {"type": "function", "function": {"name", "description", "parameters"}}
  kResponses,  ///< {"type": "function", "name", "description", "parameters"}
  kMessages,   ///< {"name", "description", "input_schema"}, "type" is "custom" or absent
};

/// Whether a model may be offered tools: its template knows of them, and how it writes calls is
/// known.
[[nodiscard]] bool can_call_tools(const ServedModel& model);

/// Takes `tools`, `tool_choice` and `parallel_tool_calls` (of Messages: `disable_parallel_tool_use`
/// of the choice, which is an object there) to request.tools and what goes with it.
/// With the choice "none" the model is not told of tools, so it cannot call them. Mistakes stay in
/// `fields`: 400 "unsupported" for tools that are no functions, for choices that force a call, and
/// for tools where the model's template has none or how it writes calls is not known.
void take_tools(BodyFields& fields, ToolDialect dialect, const ServedModel& model,
                Request& request);

/// Says to the template whether the model shall think, by the names that families have for it. A
/// variable that the request has set itself stays.
void set_thinking(Request& request, bool wanted);

/// Takes `reasoning_effort`, or `effort` of a `reasoning` object, to the template's variables: as
/// reasoning_effort, and for "none" as enable_thinking and thinking, which are false then. A
/// variable that the request has set itself stays.
void take_reasoning_effort(BodyFields& fields, std::string_view name, Request& request);

}  // namespace weft
