#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "weft/text/chat/chat_template.h"

namespace weft {

/// Returns whether a template prints a past call's id instead of its function, as Kimi's templates
/// do. Such an id is `functions.NAME:NUMBER`, so it names the function. The function renders a
/// short conversation with a call to find out. `special_tokens` are those of ChatTemplateInput.
[[nodiscard]] bool wants_named_ids(const ChatTemplate& chat_template,
                                   const boost::json::object& special_tokens);

/// Changes ids of calls in these messages that do not name their functions to
/// `functions.NAME:NUMBER`, with the call's number in the conversation. The call's results get the
/// same id. Ids of that form stay unchanged.
void name_call_ids(boost::json::array& messages);

}  // namespace weft
