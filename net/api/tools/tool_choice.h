#pragma once

#include "weft/net/api/tools/tool_fields.h"

namespace weft {

/// Takes `tool_choice`, and of what else says how many calls there may be `parallel_tool_calls` or,
/// of Messages, `disable_parallel_tool_use` of the choice, to request.tool_choice and
/// request.parallel_tool_calls: auto, none, required (of Messages any), a function by its name, and
/// OpenAI's `allowed_tools`. Returns whether the model may call anything. Mistakes stay in
/// `fields`.
[[nodiscard]] bool take_tool_choice(BodyFields& fields, ToolDialect dialect, Request& request);

/// Checks that what is chosen is there: a mistake of `tool_choice`.
void check_tool_choice(BodyFields& fields, const Request& request);

}  // namespace weft
