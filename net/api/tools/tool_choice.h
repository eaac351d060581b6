#pragma once

#include <string>
#include <vector>

#include "weft/net/api/tools/tool_fields.h"
#include "weft/net/api/tools/tool_list.h"

namespace weft {

/// What a request says of the choice besides request.tool_choice.
struct ChosenTools {
  bool may_call = true;               ///< the model may call anything
  bool limited = false;               ///< to the tools of a list
  std::vector<std::string> hosted{};  ///< types of tools in that list that are no functions
};

/// Takes `tool_choice`, and of what else says how many calls there may be `parallel_tool_calls` or,
/// of Messages, `disable_parallel_tool_use` of the choice, to request.tool_choice and
/// request.parallel_tool_calls: auto, none, required (of Messages any), a function by its name, and
/// OpenAI's `allowed_tools`. Mistakes stay in `fields`.
[[nodiscard]] ChosenTools take_tool_choice(BodyFields& fields, ToolDialect dialect,
                                           Request& request);

/// Checks that what is chosen is there and can be called: a mistake of `tool_choice`. Where the
/// model is free and no tool that it may call is left, it may call none.
void check_tool_choice(BodyFields& fields, ChosenTools& chosen, const ToolList& tools,
                       const Request& request);

}  // namespace weft
