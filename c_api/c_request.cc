#include "weft/c_api/c_request.h"

#include <string>
#include <utility>

#include "weft/c_api/weft_c.h"
#include "weft/net/api/chat/chat_request.h"
#include "weft/net/api/completions/completion_request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft::c_api {

ModelCard card_of(std::shared_ptr<const ServedModel> model) {
  ModelCard card;
  card.name = "weft";
  card.created = 0;
  card.model = std::move(model);
  return card;
}

ApiResult<Request> read_request(std::string_view text, const ModelCard& card) {
  if (text.size() > WEFT_MOST_REQUEST_BYTES) {
    return bad_field("request",
                     "has more than " + std::to_string(WEFT_MOST_REQUEST_BYTES) + " bytes");
  }
  const ParsedBody body(text);
  if (!body.object()) return body.object().error();
  const ApiContext context{.card = card};
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
  return std::move(read->parts.front());
}

}  // namespace weft::c_api
