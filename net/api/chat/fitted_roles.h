#pragma once

#include <boost/json/array.hpp>

#include "weft/text/chat/role_order.h"

namespace weft {

/// Returns a conversation in an order that the model's chat template takes. Agents of the Responses
/// and Messages APIs write system messages anywhere and several user messages in a row, which many
/// templates refuse or leave out. `order` says which orders the template takes; they stay as they
/// are. Otherwise system messages before the first answer become one message in front. Where the
/// template takes no system message, they become the beginning of the user's first message. Later
/// system messages become the user's. The user's messages in a row become one, or are appended to
/// the tool result before them.
[[nodiscard]] boost::json::array fitted_roles(boost::json::array messages, const RoleOrder& order);

}  // namespace weft
