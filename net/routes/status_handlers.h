#pragma once

#include "weft/net/routes/route.h"

/// The handlers about the server and its state.
namespace weft::handlers {

[[nodiscard]] RouteResult models(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult model(Service& service, const HttpCall& call);
/// Replies with the facts about a tokenizer, in vLLM's form.
[[nodiscard]] RouteResult tokenizer_info(Service& service, const HttpCall& call);
/// llama.cpp's endpoints about a model, which `?model=` names, and about its slots.
[[nodiscard]] RouteResult llama_model(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult llama_slot_list(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult health(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult live(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult metrics(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult version(Service& service, const HttpCall& call);
/// Lists all running requests; only the client's own show their ids.
[[nodiscard]] RouteResult requests(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult page(Service& service, const HttpCall& call);

}  // namespace weft::handlers
