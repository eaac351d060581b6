#pragma once

#include "weft/net/routes/route.h"

/// The handlers that load and unload models, for who runs the server (Service::refuse_admin).
namespace weft::handlers {

/// Replies when the model takes requests, or says why it does not.
[[nodiscard]] RouteResult load_model(Service& service, const HttpCall& call);
/// Replies when the model's requests have ended and its memory is free.
[[nodiscard]] RouteResult unload_model(Service& service, const HttpCall& call);

}  // namespace weft::handlers
