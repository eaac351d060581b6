#pragma once

#include <string>
#include <vector>

#include "weft/net/api/tools/tool_fields.h"
#include "weft/net/api/tools/tool_list.h"

namespace weft {

/// The parts of a request's choice that request.tool_choice does not hold.
struct ChosenTools {
  bool may_call = true;               ///< whether the model may call tools at all
  bool limited = false;               ///< whether only listed tools may be called
  std::vector<std::string> hosted{};  ///< types of listed tools that are no functions
};

/// Takes `tool_choice` to request.tool_choice: auto, none, required (in Messages any), a function
/// by its name, or OpenAI's `allowed_tools`. Takes whether there may be several calls to
/// request.parallel_tool_calls: from `parallel_tool_calls` or, in Messages, from the choice's
/// `disable_parallel_tool_use`. Mistakes stay in `fields`.
[[nodiscard]] ChosenTools take_tool_choice(BodyFields& fields, ToolDialect dialect,
                                           Request& request);

/// Checks that the chosen tool exists and can be called; otherwise `tool_choice` is a mistake.
/// Where the model may choose and no allowed tool is left, it can call no tool.
void check_tool_choice(BodyFields& fields, ChosenTools& chosen, const ToolList& tools,
                       const Request& request);

}  // namespace weft
