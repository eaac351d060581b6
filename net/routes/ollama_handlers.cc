#include "weft/net/routes/ollama_handlers.h"

#include <utility>

#include "weft/net/api/ollama/ollama_api.h"
#include "weft/net/api/ollama/ollama_embed.h"
#include "weft/net/api/ollama/ollama_models.h"
#include "weft/net/routes/api_handlers.h"
#include "weft/net/service/service.h"

namespace weft::handlers {

RouteResult ollama_chat(Service& service, const HttpCall& call) {
  return generate(service, call, decode_ollama_chat);
}

RouteResult ollama_generate(Service& service, const HttpCall& call) {
  return generate(service, call, decode_ollama_generate);
}

RouteResult ollama_embed(Service& service, const HttpCall& call) {
  return generate(service, call, decode_ollama_embed);
}

RouteResult ollama_embeddings(Service& service, const HttpCall& call) {
  return generate(service, call, decode_ollama_embeddings);
}

RouteResult ollama_models(Service& service, const HttpCall& /*call*/) {
  return HttpReply{.body = ollama_tags(*service.models())};
}

RouteResult ollama_loaded_models(Service& service, const HttpCall& /*call*/) {
  return HttpReply{.body = ollama_running(*service.models())};
}

RouteResult ollama_model(Service& service, const HttpCall& call) {
  const ParsedBody body(call.body);
  if (!body.object()) return error_reply(body.object().error());
  const simdjson::dom::object asked = *body.object();
  const bool is_older = asked.at_key("model").error() != simdjson::SUCCESS;
  const auto card = service.loaded_card_for(asked, is_older ? "name" : "model");
  if (!card) return error_reply(card.error());
  auto shown = ollama_show(asked, *card);
  if (!shown) return error_reply(shown.error());
  return HttpReply{.body = *std::move(shown)};
}

RouteResult ollama_api_version(Service& /*service*/, const HttpCall& /*call*/) {
  return HttpReply{.body = ollama_version()};
}

}  // namespace weft::handlers
