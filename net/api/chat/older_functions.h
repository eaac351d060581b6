#pragma once

#include <simdjson.h>

#include <string>

#include "weft/net/api/fields/api_error.h"

namespace weft {

/// OpenAI's fields that are older than tools: `functions` and `function_call` of a body, an
/// assistant's `function_call`, and messages of the role `function`. A body with these fields is
/// read as the equal body with today's fields.

/// Returns whether a body offers functions, or has past calls, in these older fields.
[[nodiscard]] bool has_older_functions(simdjson::dom::object body);
/// Returns whether a body offers functions: the answer then names a call in the older fields too.
[[nodiscard]] bool offers_older_functions(simdjson::dom::object body);

/// Returns the body as JSON with `tools` in the place of the older fields. 400 "invalid_value"
/// where the body has both.
[[nodiscard]] ApiResult<std::string> with_tools_of_today(simdjson::dom::object body);

/// Returns the error with the names that the client wrote: "functions[0].name" for
/// "tools[0].function.name".
[[nodiscard]] ApiError in_older_names(ApiError error);

}  // namespace weft
