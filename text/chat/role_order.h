#pragma once

#include <boost/json/object.hpp>

#include "weft/text/chat/chat_template.h"

namespace weft {

/// The orders of roles that a chat template accepts, besides one system message and alternating
/// turns. A template accepts a conversation when it does not fail and writes the text of each
/// message.
struct RoleOrder {
  bool system = true;        ///< a system message at the beginning
  bool systems = true;       ///< several system messages, also between other messages
  bool repeats = true;       ///< several messages of the user in a row
  bool after_result = true;  ///< a user's message after the result of a call
};

/// Finds the order by rendering short conversations. `special_tokens` are those of
/// ChatTemplateInput; `text_arguments`: calls have their arguments as text.
[[nodiscard]] RoleOrder role_order_of(const ChatTemplate& chat_template,
                                      const boost::json::object& special_tokens,
                                      bool text_arguments);

}  // namespace weft
