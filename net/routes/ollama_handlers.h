#pragma once

#include "weft/net/routes/route.h"

/// The handlers of Ollama's API, below /api/.
namespace weft::handlers {

[[nodiscard]] RouteResult ollama_chat(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult ollama_generate(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult ollama_embed(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult ollama_embeddings(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult ollama_models(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult ollama_loaded_models(Service& service, const HttpCall& call);
/// Replies with the facts about one model.
[[nodiscard]] RouteResult ollama_model(Service& service, const HttpCall& call);
[[nodiscard]] RouteResult ollama_api_version(Service& service, const HttpCall& call);

}  // namespace weft::handlers
