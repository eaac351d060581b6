#pragma once

#include <boost/json/array.hpp>

#include "weft/text/chat/role_order.h"

namespace weft {

/// Returns a conversation as the model's chat template takes it. Agents of the Responses and the
/// Messages API write system messages anywhere and several messages of the user in a row, which
/// many templates refuse or leave out. What `order` says that the template takes stays as it is.
/// Else system messages up to the first answer become one in front, or, where there can be none,
/// the beginning of the user's first message; later ones become the user's; and the user's messages
/// in a row become one, or go to the end of the result before them.
[[nodiscard]] boost::json::array fitted_roles(boost::json::array messages, const RoleOrder& order);

}  // namespace weft
