#pragma once

#include <boost/json/array.hpp>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Takes `messages` of Ollama's API, which may be absent or empty, and returns them for the model's
/// chat template, in the form of Request::messages. Calls without an id get one. A tool's message
/// without an id answers the first unanswered call of its name, or else the first unanswered call.
/// Mistakes stay in `fields`.
[[nodiscard]] boost::json::array take_ollama_messages(BodyFields& fields, const ServedModel& model);

}  // namespace weft
