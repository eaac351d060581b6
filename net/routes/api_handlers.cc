#include "weft/net/routes/api_handlers.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/completions/completion_api.h"
#include "weft/net/api/messages/messages_api.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/net/api/text_api.h"
#include "weft/net/api/vectors/vectors_api.h"
#include "weft/net/http/header_values.h"
#include "weft/net/http/websocket_handshake.h"
#include "weft/net/service/decode_call.h"
#include "weft/net/service/service.h"

namespace weft::handlers {
namespace {

ApiResult<ApiCall> decode_posted_response(simdjson::dom::object body, const ApiContext& context) {
  return decode_response(body, context);
}

/// A request whose model is being loaded.
struct WaitingCall {
  std::string body;
  BodyMemory::Share memory;
  std::shared_ptr<KeyHolder> key;
  std::chrono::milliseconds timeout;
  DecodeCall decode;
};

LaterResult result_of(const Service& service, const WaitingCall& call) {
  const ParsedBody body(call.body);
  if (!body.object()) return error_reply(body.object().error());
  auto decoded = decode_for_model(service, call.key, call.timeout, *body.object(), call.decode);
  if (!decoded) return error_reply(decoded.error());
  return std::move(*decoded);
}

/// Asks the engine to load the model first; the engine bounds how many calls may wait for it.
RouteResult generate_when_loaded(Service& service, const HttpCall& call, DecodeCall decode,
                                 std::string model, std::chrono::milliseconds timeout) {
  auto waiting = std::make_shared<WaitingCall>(
      WaitingCall{std::string(call.body), std::move(call.memory), call.key, timeout, decode});
  return LaterReply([&service, model = std::move(model), waiting = std::move(waiting)](auto done) {
    service.engine()->async_load(
        model, [&service, waiting, done = std::move(done)](boost::system::error_code error,
                                                           const std::string& detail) {
          if (error && error.category() != engine_category()) error = EngineErrc::kModelFailed;
          if (error) return done(error_reply(api_error_of({error, detail})));
          try {
            done(result_of(service, *waiting));
          } catch (const std::exception&) {
            done(error_reply(api_error_of({EngineErrc::kInternal, {}})));
          }
        });
  });
}

/// A job of the text worker that needs the context of the model which the body names.
using ContextWork = ApiResult<std::string> (*)(simdjson::dom::object, const ApiContext&);
RouteResult start_in_context(Service& service, const HttpCall& call, ContextWork work) {
  return service.text_worker().start(
      call, [&service, key = call.key, work](simdjson::dom::object body) -> ApiResult<std::string> {
        auto card = service.loaded_card_for(body);
        if (!card) return std::move(card).error();
        return work(body, service.context(key, {}, *std::move(card)));
      });
}

/// A job of the text worker that needs the model's card alone.
using CardWork = ApiResult<std::string> (*)(simdjson::dom::object, const ModelCard&);
RouteResult start_with_card(Service& service, const HttpCall& call, CardWork work) {
  return service.text_worker().start(
      call, [&service, work](simdjson::dom::object body) -> ApiResult<std::string> {
        const auto card = service.loaded_card_for(body);
        if (!card) return card.error();
        return work(body, *card);
      });
}

}  // namespace

RouteResult generate(Service& service, const HttpCall& call, DecodeCall decode) {
  const auto timeout = timeout_of(call.header);
  if (!timeout) return error_reply(timeout.error());
  const ParsedBody body(call.body);
  if (!body.object()) return error_reply(body.object().error());
  auto card = service.card_for(*body.object());
  if (!card) return error_reply(card.error());
  const bool comes = card->state == ModelState::kLoading ||
                     (card->state == ModelState::kUnloaded && service.models()->loads_on_demand);
  if (card->model == nullptr && comes) {
    return generate_when_loaded(service, call, decode, card->base(), *timeout);
  }
  auto decoded = decode_for_model(service, call.key, *timeout, *body.object(), decode);
  if (!decoded) return error_reply(decoded.error());
  return std::move(*decoded);
}

RouteResult chat(Service& service, const HttpCall& call) {
  return generate(service, call, decode_chat);
}

RouteResult completion(Service& service, const HttpCall& call) {
  return generate(service, call, decode_completion);
}

RouteResult embeddings(Service& service, const HttpCall& call) {
  return generate(service, call, decode_embeddings);
}

RouteResult rerank(Service& service, const HttpCall& call) {
  return generate(service, call, decode_rerank);
}

RouteResult score(Service& service, const HttpCall& call) {
  return generate(service, call, decode_score);
}

RouteResult classify(Service& service, const HttpCall& call) {
  return generate(service, call, decode_classify);
}

RouteResult fill_mask(Service& service, const HttpCall& call) {
  return generate(service, call, decode_fill_mask);
}

RouteResult response(Service& service, const HttpCall& call) {
  return generate(service, call, decode_posted_response);
}

RouteResult message(Service& service, const HttpCall& call) {
  return generate(service, call, decode_messages);
}

RouteResult message_tokens(Service& service, const HttpCall& call) {
  return start_in_context(service, call, count_message_tokens);
}

RouteResult rendered_chat(Service& service, const HttpCall& call) {
  return start_in_context(service, call, render_chat);
}

RouteResult upgrade(Service& /*service*/, const HttpCall& call) {
  auto refusal = refuse_handshake(call.header);
  if (refusal) return *std::move(refusal);
  return Upgrade{};
}

RouteResult tokenize_text(Service& service, const HttpCall& call) {
  return start_with_card(service, call, tokenize);
}

RouteResult detokenize_tokens(Service& service, const HttpCall& call) {
  return start_with_card(service, call, detokenize);
}

RouteResult input_tokens(Service& service, const HttpCall& call) {
  return start_in_context(service, call, count_input_tokens);
}

}  // namespace weft::handlers
