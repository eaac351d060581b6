#pragma once

#include <boost/json/array.hpp>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Takes `system` and `messages` of the Messages API, and returns the conversation as the model's
/// chat template gets it: as Request::messages says it, `system` first. Texts of one message are
/// joined by newlines, and so are turns of one role that follow each other; a `tool_result` becomes
/// a message of the tool. Blocks that are neither text nor of tools or thoughts are refused by
/// their type, and so is a last message of the assistant's, since no answer can be continued.
/// Mistakes stay in `fields`.
[[nodiscard]] boost::json::array take_turns(BodyFields& fields, const ServedModel& model);

}  // namespace weft
