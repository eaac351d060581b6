#include "weft/net/api/responses/response_api.h"

#include <memory>
#include <string_view>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/responses/response_request.h"

namespace weft {
namespace {

/// Returns the response that the body continues; null when it names none, or one that is not kept
/// (any more) or belongs to another client.
std::shared_ptr<const StoredResponse> previous_of(simdjson::dom::object body,
                                                  const ApiContext& context) {
  std::string_view id;
  if (body.at_key("previous_response_id").get(id) != simdjson::SUCCESS) return nullptr;
  for (const auto& store : {context.local, context.stored}) {
    auto found = store ? store->find(id, context.client) : nullptr;
    if (found) return found;
  }
  return nullptr;
}

}  // namespace

ApiResult<ApiCall> decode_response(simdjson::dom::object body, const ApiContext& context,
                                   bool generate) {
  auto read = read_response(body, context, previous_of(body, context).get(), generate);
  if (!read) return read.error();
  ApiCall call;
  call.parts = std::move(read->parts);
  call.framing = read->framing;
  call.object_id = read->options.id;
  call.writer = make_response_writer(std::move(read->options), context.card.model, read->framing);
  return call;
}

ApiResult<std::string> count_input_tokens(simdjson::dom::object body, const ApiContext& context) {
  auto read = read_response(body, context, previous_of(body, context).get(), true);
  if (!read) return read.error();
  Request& request = read->parts.front();
  const auto ids = context.card.model->chat.encode(
      {.messages = std::move(request.messages),
       .tools = std::move(request.tools),
       .chat_template_kwargs = std::move(request.chat_template_kwargs)},
      wall_clock());
  if (!ids) return api_error_of(ids.error());
  return json_text(
      boost::json::object{{"object", "response.input_tokens"}, {"input_tokens", ids->size()}});
}

}  // namespace weft
