#pragma once

#include <boost/json/array.hpp>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/responses/referenced_items.h"

namespace weft {

/// Converts `input` of the Responses API, a text or a list of items, to the conversation for chat
/// templates. Messages stay messages. A thought and calls join the assistant's message before or
/// after them. The output of a call becomes a tool's message, behind its call. `before` is the
/// earlier conversation: `input` may have outputs of its calls, but a call at the start of `input`
/// joins no message of it. `items` are the items that references may name. Mistakes stay in
/// `fields`.
[[nodiscard]] boost::json::array take_input(BodyFields& fields, const ServedModel& model,
                                            const boost::json::array& before,
                                            ReferencedItems& items);

}  // namespace weft
