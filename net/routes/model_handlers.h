#pragma once

#include "weft/net/routes/route.h"

/// The handlers that load and unload models, for the server's operator (Service::refuse_admin).
namespace weft::handlers {

/// Replies when the model takes requests, or with the reason why it does not.
[[nodiscard]] RouteResult load_model(Service& service, const HttpCall& call);
/// Replies when the model's requests have ended and its memory is free.
[[nodiscard]] RouteResult unload_model(Service& service, const HttpCall& call);

}  // namespace weft::handlers
