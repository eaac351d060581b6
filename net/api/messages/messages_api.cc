#include "weft/net/api/messages/messages_api.h"

#include <boost/json/object.hpp>
#include <utility>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/fields/json_text.h"

namespace weft {

ApiResult<ApiCall> decode_messages(simdjson::dom::object body, const ApiContext& context) {
  auto read = read_messages(body, context);
  if (!read) return read.error();
  ApiCall call;
  call.parts = std::move(read->parts);
  call.framing = read->options.stream ? Framing::kSse : Framing::kBody;
  call.object_id = read->options.id;
  call.writer = make_message_writer(std::move(read->options), context.card.model);
  return call;
}

ApiResult<std::string> count_message_tokens(simdjson::dom::object body, const ApiContext& context) {
  auto read = read_messages(body, context, MessageUse::kCount);
  if (!read) return read.error();
  const auto ids = prompt_tokens(std::move(read->parts.front()), *context.card.model);
  if (!ids) return ids.error();
  boost::json::object count{{"input_tokens", ids->size()}};
  if (read->options.tells_edits) {
    count["context_management"] = {{"original_input_tokens", ids->size()}};
  }
  return json_text(count);
}

}  // namespace weft
