#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "weft/text/chat/chat_template.h"

namespace weft {

/// Whether a template wants the arguments of calls as text instead of objects: it puts them into
/// the prompt as they are. Found out by rendering a short conversation with a call both ways; where
/// neither shows the arguments, objects it is. `special_tokens` are those of ChatTemplateInput.
[[nodiscard]] bool wants_text_arguments(const ChatTemplate& chat_template,
                                        const boost::json::object& special_tokens);

/// Makes JSON text of the arguments of all calls in these messages that are objects.
void make_arguments_text(boost::json::array& messages);

}  // namespace weft
