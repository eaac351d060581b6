#pragma once

#include <boost/json/array.hpp>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Takes `messages` of Ollama's API, which may be absent or empty, and returns them as the model's
/// chat template gets them: as Request::messages says it. Calls without an id get one, and a tool's
/// message without one answers the first call of its name, or else the first, that none before it
/// has answered. Mistakes stay in `fields`.
[[nodiscard]] boost::json::array take_ollama_messages(BodyFields& fields, const ServedModel& model);

}  // namespace weft
