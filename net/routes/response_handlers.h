#pragma once

#include "weft/net/routes/route.h"

/// The handlers of responses that are kept or that run. A client sees none that belong to another
/// key.
namespace weft::handlers {

/// With ?stream=true its events.
[[nodiscard]] RouteResult get_response(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult list_input_items(Service& service, const HttpCall& call);
/// Cancels one that runs in the background first.
[[nodiscard]] RouteResult delete_response(Service& service, const HttpCall& call);
/// What a new conversation can begin with instead of a long one.
[[nodiscard]] RouteResult compact_response(Service& service, const HttpCall& call);
/// Replies when the response has ended.
[[nodiscard]] RouteResult cancel_response(Service& service, const HttpCall& call);

}  // namespace weft::handlers
