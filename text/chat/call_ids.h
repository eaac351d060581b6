#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "weft/text/chat/chat_template.h"

namespace weft {

/// Returns whether a template prints a past call's id and not its function, as Kimi's templates do:
/// the id is then `functions.NAME:NUMBER`, and names the function. Found out by rendering a short
/// conversation with a call. `special_tokens` are those of ChatTemplateInput.
[[nodiscard]] bool wants_named_ids(const ChatTemplate& chat_template,
                                   const boost::json::object& special_tokens);

/// Gives each call of these messages whose id does not name its function the id
/// `functions.NAME:NUMBER`, with the call's number in the conversation, and gives the call's
/// results the same id. Ids of that form stay as they are.
void name_call_ids(boost::json::array& messages);

}  // namespace weft
