#pragma once

#include <boost/json/array.hpp>

#include "weft/text/chat/role_order.h"

namespace weft {

/// Returns a conversation in an order that the model's chat template takes. Agents of the Responses
/// and Messages APIs write system messages anywhere and several user messages in a row, which many
/// templates refuse or leave out. Orders that the template takes, by `order`, stay as they are.
/// Otherwise system messages up to the first answer become one in front or, where the template
/// takes none, the beginning of the user's first message; later ones become the user's; and the
/// user's messages in a row become one, or are appended to the tool result before them.
[[nodiscard]] boost::json::array fitted_roles(boost::json::array messages, const RoleOrder& order);

}  // namespace weft
