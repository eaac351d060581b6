#pragma once

#include "weft/net/routes/route.h"

/// The handlers of stored and running responses. A client sees no response that belongs to another
/// key.
namespace weft::handlers {

/// Replies with a stored response, or with its events where the query has stream=true.
[[nodiscard]] RouteResult get_response(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult list_input_items(Service& service, const HttpCall& call);
/// Deletes a response; a response that runs in the background is cancelled first.
[[nodiscard]] RouteResult delete_response(Service& service, const HttpCall& call);
/// Makes a short conversation that the client can continue instead of the long one.
[[nodiscard]] RouteResult compact_response(Service& service, const HttpCall& call);
/// Cancels a response, and replies when it has ended.
[[nodiscard]] RouteResult cancel_response(Service& service, const HttpCall& call);

}  // namespace weft::handlers
