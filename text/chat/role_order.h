#pragma once

#include <boost/json/object.hpp>

#include "weft/text/chat/chat_template.h"

namespace weft {

/// The conversations that a chat template takes, besides one system message and turns in order.
/// A template takes a conversation when it fails on none of it and writes the text of each message.
struct RoleOrder {
  bool system = true;        ///< a system message in front
  bool systems = true;       ///< several system messages, also between other messages
  bool repeats = true;       ///< several messages of the user, one after the other
  bool after_result = true;  ///< a message of the user behind the result of a call
};

/// Finds the order by rendering short conversations. `special_tokens` are those of
/// ChatTemplateInput; `text_arguments`: calls have their arguments as text.
[[nodiscard]] RoleOrder role_order_of(const ChatTemplate& chat_template,
                                      const boost::json::object& special_tokens,
                                      bool text_arguments);

}  // namespace weft
