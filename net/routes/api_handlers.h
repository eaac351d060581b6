#pragma once

#include "weft/net/routes/route.h"

/// The handlers that run the model, or its tokenizer, for a client.
namespace weft::handlers {

[[nodiscard]] RouteResult chat(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult completion(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult response(Service& service, const HttpCall& call);
/// Makes the connection a WebSocket, which speaks the Responses API.
[[nodiscard]] RouteResult upgrade(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult tokenize_text(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult detokenize_tokens(Service& service, const HttpCall& call);
/// How long the prompt of a response would be.
[[nodiscard]] RouteResult input_tokens(Service& service, const HttpCall& call);

}  // namespace weft::handlers
