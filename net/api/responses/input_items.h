#pragma once

#include <boost/json/array.hpp>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/responses/referenced_items.h"

namespace weft {

/// Takes `input` of the Responses API, a text or a list of items, to the conversation that chat
/// templates know: messages stay messages; a thought and calls join the assistant's message before
/// or after them; the output of a call becomes a tool's message. `before` is the earlier
/// conversation: its calls may have their outputs in `input`, but a call at the start of `input`
/// joins no message of it. Each output follows its call. `items` are those that references may
/// name. Mistakes stay in `fields`.
[[nodiscard]] boost::json::array take_input(BodyFields& fields, const ServedModel& model,
                                            const boost::json::array& before,
                                            ReferencedItems& items);

}  // namespace weft
