#pragma once

#include <simdjson.h>

#include "weft/net/api/api_call.h"
#include "weft/net/routes/route.h"

/// The handlers that run the model, or its tokenizer, for a client.
namespace weft::handlers {

/// Decodes the body of a request that runs the model.
using DecodeCall = ApiResult<ApiCall> (*)(simdjson::dom::object, const ApiContext&);
/// Decodes the body for the model that it names. Waits for a model that is being loaded or is
/// loaded on demand; any other model that is not loaded gets 503.
[[nodiscard]] RouteResult generate(Service& service, const HttpCall& call, DecodeCall decode);

[[nodiscard]] RouteResult chat(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult completion(Service& service, const HttpCall& call);
/// Handlers for vectors and scores.
[[nodiscard]] RouteResult embeddings(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult rerank(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult score(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult classify(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult fill_mask(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult response(Service& service, const HttpCall& call);
/// Upgrades the connection to a WebSocket, which speaks the Responses API.
[[nodiscard]] RouteResult upgrade(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult tokenize_text(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult detokenize_tokens(Service& service, const HttpCall& call);
/// Handlers for a message of Anthropic's API, and for the length of its prompt.
[[nodiscard]] RouteResult message(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult message_tokens(Service& service, const HttpCall& call);
/// Handler for the prompt of a chat.
[[nodiscard]] RouteResult rendered_chat(Service& service, const HttpCall& call);
/// Handler for the length of a response's prompt.
[[nodiscard]] RouteResult input_tokens(Service& service, const HttpCall& call);

}  // namespace weft::handlers
