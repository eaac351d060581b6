#pragma once

#include <cstdint>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/tools/tool_origin.h"

namespace weft {

/// The API's form of a function.
enum class ToolDialect : std::uint8_t {
  kChat,       ///< {"type": "function", "function": {"name", "description", "parameters"}}
  kResponses,  ///< {"type": "function", "name", "description", "parameters"}, namespaces of them,
               ///< and custom tools
  kMessages,   ///< {"name", "description", "input_schema"}; "type" is "custom" or absent
};

/// Whether a model may be offered tools: its template takes them, and the form of its calls is
/// known.
[[nodiscard]] bool can_call_tools(const ServedModel& model);

/// Takes `tools`, their `strict`, and the choice (tool_choice.h), to request.tools and its
/// companions. With the choice "none" the model does not learn of the tools, so it cannot call
/// them. A tool that the API's own servers run is accepted, but not offered to the model; choosing
/// it is refused. Returns the client's names of the functions. Mistakes stay in `fields`: 400
/// "unsupported" for tools where the model's template takes none or its form of calls is not known.
/// The engine reports unenforced parts of a schema by their place in the body.
ToolOrigins take_tools(BodyFields& fields, ToolDialect dialect, const ServedModel& model,
                       Request& request);

}  // namespace weft
