#pragma once

#include <boost/json/array.hpp>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/responses/referenced_items.h"

namespace weft {

/// Takes `input` of the Responses API, a text or a list of items, to the conversation that chat
/// templates know: messages stay messages; a thought and calls belong to the assistant's message
/// before or after them; the output of a call is a tool's message. `before` is what was said
/// earlier, whose calls may have their outputs here; a call that comes first belongs to no message
/// of it. An output is of a call that went before. `items` are those that may be referred to.
/// Mistakes stay in `fields`.
[[nodiscard]] boost::json::array take_input(BodyFields& fields, const ServedModel& model,
                                            const boost::json::array& before,
                                            ReferencedItems& items);

}  // namespace weft
