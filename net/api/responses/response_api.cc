#include "weft/net/api/responses/response_api.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/responses/response_conversation.h"
#include "weft/net/api/responses/response_object.h"
#include "weft/net/api/responses/response_request.h"
#include "weft/net/api/responses/response_store.h"

namespace weft {
namespace {

/// Prepares a response that is made in the background. It makes the draft that is stored once the
/// response has begun, and the reply that the client gets at once.
std::optional<ApiError> make_background(const ResponseOptions& options, ApiCall& call) {
  const ResponseObject object(options);
  auto draft = std::make_shared<StoredResponse>();
  draft->id = options.id;
  draft->owner = options.owner;
  draft->object = object.make({.status = "in_progress"}, {});
  draft->conversation = options.conversation;
  draft->conversation_bytes = options.conversation_bytes;
  draft->whole = false;
  if (!options.store->fits(*draft)) {
    return bad_field("background", "is not possible: there is no room to keep the response",
                     api_code::kUnsupported);
  }
  call.draft = std::move(draft);
  call.reply_now = object.make({.status = "queued"}, {});
  return std::nullopt;
}

}  // namespace

ApiResult<ApiCall> decode_response(simdjson::dom::object body, const ApiContext& context,
                                   bool generate) {
  auto read = read_response(body, context, previous_response(body, context).get(), generate);
  if (!read) return read.error();
  ApiCall call;
  if (read->options.background) {
    if (auto error = make_background(read->options, call)) return *std::move(error);
  }
  call.parts = std::move(read->parts);
  call.framing = read->framing;
  call.object_id = read->options.id;
  call.writer = make_response_writer(std::move(read->options), context.card.model, read->framing);
  return call;
}

ApiResult<std::string> count_input_tokens(simdjson::dom::object body, const ApiContext& context) {
  auto read = read_response(body, context, previous_response(body, context).get(), true);
  if (!read) return read.error();
  const auto ids = prompt_tokens(std::move(read->parts.front()), *context.card.model);
  if (!ids) return ids.error();
  return json_text(
      boost::json::object{{"object", "response.input_tokens"}, {"input_tokens", ids->size()}});
}

}  // namespace weft
