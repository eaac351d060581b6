#pragma once

#include <boost/json/array.hpp>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Takes `system` and `messages` of the Messages API, and returns the conversation for the model's
/// chat template, in the form of Request::messages with `system` first. Newlines join the texts of
/// one message, and turns of one role in a row. A `tool_result` becomes a message of the tool.
/// Blocks other than text, tools and thoughts are refused by their type. So is an assistant's
/// message at the end, since no answer can be continued. Mistakes stay in `fields`.
[[nodiscard]] boost::json::array take_turns(BodyFields& fields, const ServedModel& model);

}  // namespace weft
