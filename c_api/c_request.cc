#include "weft/c_api/c_request.h"

#include <optional>
#include <string>
#include <utility>

#include "weft/c_api/weft_c.h"
#include "weft/net/api/chat/chat_request.h"
#include "weft/net/api/completions/completion_request.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/vectors/vectors_api.h"

namespace weft::c_api {
namespace {

std::optional<ApiError> too_long(std::string_view text) {
  if (text.size() <= WEFT_MOST_REQUEST_BYTES) return std::nullopt;
  return bad_field("request",
                   "has more than " + std::to_string(WEFT_MOST_REQUEST_BYTES) + " bytes");
}

ApiResult<ModelCard> card_of_body(simdjson::dom::object body, const FindCard& find_card) {
  std::string_view name;
  if (body.at_key("model").get(name) != simdjson::SUCCESS) name = {};
  return find_card(name);
}

}  // namespace

ModelCard card_of(std::shared_ptr<const ServedModel> model) {
  ModelCard card;
  card.name = "weft";
  card.created = 0;
  card.model = std::move(model);
  return card;
}

ModelCard card_named(const ModelCard& only, std::string_view name) {
  const ModelList list{.models = {only}};
  return list.named(name).value_or(only);
}

ApiResult<Request> read_request(std::string_view text, const FindCard& find_card) {
  if (const auto refusal = too_long(text)) return *refusal;
  const ParsedBody body(text);
  if (!body.object()) return body.object().error();
  auto card = card_of_body(*body.object(), find_card);
  if (!card) return card.error();
  const ApiContext context{.card = *std::move(card)};
  simdjson::dom::element messages;
  const bool chat = body.object()->at_key("messages").get(messages) == simdjson::SUCCESS;
  auto read = chat ? read_chat(*body.object(), context) : read_completion(*body.object(), context);
  if (!read) return read.error();
  if (read->parts.size() != 1) return bad_field("prompt", "must be one prompt");
  if (!read->options.echo.empty()) {
    return bad_field("echo", "is not supported here", api_code::kUnsupported);
  }
  if (read->options.prompt_top >= 0) {
    return bad_field("prompt_logprobs", "is not supported here", api_code::kUnsupported);
  }
  Request request = std::move(read->parts.front());
  request.model = context.card.base();
  return request;
}

ApiResult<EmbedRequest> read_embed_request(std::string_view text, const FindCard& find_card) {
  if (const auto refusal = too_long(text)) return *refusal;
  const ParsedBody body(text);
  if (!body.object()) return body.object().error();
  auto card = card_of_body(*body.object(), find_card);
  if (!card) return card.error();
  const ApiContext context{.card = *std::move(card)};
  auto call = decode_embeddings(*body.object(), context);
  if (!call) return call.error();
  if (call->parts.size() != 1) return bad_field("input", "must be one input");
  Request& request = call->parts.front();
  EmbedRequest embed;
  embed.text = std::move(request.prompt);
  embed.tokens = std::move(request.prompt_tokens);
  embed.model = context.card.base();
  embed.adapter = std::move(request.adapter);
  embed.wish = *request.vector;
  embed.request_class = request.request_class;
  embed.priority = request.priority;
  embed.client = std::move(request.client);
  embed.cache_salt = std::move(request.cache_salt);
  embed.timeout = request.timeout;
  return embed;
}

}  // namespace weft::c_api
