#pragma once

#include <string>

#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Reads OpenAI's `prediction`, the output that a client expects: {"type": "content", "content": a
/// text or a list of {"type": "text", "text"}}. Returns its text, of a list all texts one behind
/// the other; "" where the body has none.
[[nodiscard]] std::string take_prediction(const BodyFields& fields);

}  // namespace weft
