#include "weft/net/api/messages/messages_api.h"

#include <boost/json/object.hpp>
#include <utility>

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
  Request& request = read->parts.front();
  const auto ids = context.card.model->chat.encode(
      {.messages = std::move(request.messages),
       .tools = std::move(request.tools),
       .chat_template_kwargs = std::move(request.chat_template_kwargs)},
      wall_clock());
  if (!ids) return api_error_of(ids.error());
  return json_text(boost::json::object{{"input_tokens", ids->size()}});
}

}  // namespace weft
