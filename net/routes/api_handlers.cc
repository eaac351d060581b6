#include "weft/net/routes/api_handlers.h"

#include <utility>

#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/completions/completion_api.h"
#include "weft/net/api/messages/messages_api.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/net/api/text_api.h"
#include "weft/net/http/header_values.h"
#include "weft/net/http/websocket_handshake.h"
#include "weft/net/service/service.h"

namespace weft::handlers {
namespace {

ApiResult<ApiCall> decode_posted_response(simdjson::dom::object body, const ApiContext& context) {
  return decode_response(body, context);
}

}  // namespace

RouteResult generate(const Service& service, const HttpCall& call, DecodeCall decode) {
  const auto timeout = timeout_of(call.header);
  if (!timeout) return error_reply(timeout.error());
  const ParsedBody body(call.body);
  if (!body.object()) return error_reply(body.object().error());
  auto decoded = decode(*body.object(), service.context(call.key, *timeout));
  if (!decoded) return error_reply(decoded.error());
  return std::move(*decoded);
}

RouteResult chat(Service& service, const HttpCall& call) {
  return generate(service, call, decode_chat);
}

RouteResult completion(Service& service, const HttpCall& call) {
  return generate(service, call, decode_completion);
}

RouteResult response(Service& service, const HttpCall& call) {
  return generate(service, call, decode_posted_response);
}

RouteResult message(Service& service, const HttpCall& call) {
  return generate(service, call, decode_messages);
}

RouteResult message_tokens(Service& service, const HttpCall& call) {
  return service.text_worker().start(
      call, [context = service.context(call.key, {})](simdjson::dom::object body) {
        return count_message_tokens(body, context);
      });
}

RouteResult rendered_chat(Service& service, const HttpCall& call) {
  return service.text_worker().start(
      call, [context = service.context(call.key, {})](simdjson::dom::object body) {
        return render_chat(body, context);
      });
}

RouteResult upgrade(Service& service, const HttpCall& call) {
  auto refusal = refuse_handshake(call.header, service.config().cors_origins);
  if (refusal) return *std::move(refusal);
  return Upgrade{};
}

RouteResult tokenize_text(Service& service, const HttpCall& call) {
  return service.text_worker().start(
      call, [&card = service.card()](simdjson::dom::object body) { return tokenize(body, card); });
}

RouteResult detokenize_tokens(Service& service, const HttpCall& call) {
  return service.text_worker().start(call, [&card = service.card()](simdjson::dom::object body) {
    return detokenize(body, card);
  });
}

RouteResult input_tokens(Service& service, const HttpCall& call) {
  return service.text_worker().start(
      call, [context = service.context(call.key, {})](simdjson::dom::object body) {
        return count_input_tokens(body, context);
      });
}

}  // namespace weft::handlers
