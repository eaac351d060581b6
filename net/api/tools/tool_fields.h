#pragma once

#include <cstdint>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/tools/tool_origin.h"

namespace weft {

/// How an API writes a function.
enum class ToolDialect : std::uint8_t {
  kChat,       ///< {"type": "function", "function": {"name", "description", "parameters"}}
  kResponses,  ///< {"type": "function", "name", "description", "parameters"}, namespaces of them,
               ///< and custom tools
  kMessages,   ///< {"name", "description", "input_schema"}, "type" is "custom" or absent
};

/// Whether a model may be offered tools: its template knows of them, and how it writes calls is
/// known.
[[nodiscard]] bool can_call_tools(const ServedModel& model);

/// Takes `tools` and their `strict`, and what tool_choice.h says of the choice, to request.tools
/// and what goes with it. With the choice "none" the model is not told of tools, so it cannot call
/// them. A tool that the API's own servers run is accepted and not offered to the model; choosing
/// it is refused. Returns the client's names of the functions. Mistakes stay in `fields`: 400
/// "unsupported" for tools where the model's template takes none or its form of calls is not known.
/// The engine reports the parts of a schema that are not enforced, by their place in the body.
ToolOrigins take_tools(BodyFields& fields, ToolDialect dialect, const ServedModel& model,
                       Request& request);

}  // namespace weft
