#pragma once

#include <simdjson.h>

#include <memory>
#include <string>

#include "weft/net/api/api_call.h"
#include "weft/net/api/messages/message_request.h"

namespace weft {

/// Decodes the body of POST /v1/messages. The error names the field: a value out of range, a
/// feature that Weft does not have, or an unknown field that could change the output.
///
/// Source: Anthropic's API reference, "Messages".
[[nodiscard]] ApiResult<ApiCall> decode_messages(simdjson::dom::object body,
                                                 const ApiContext& context);

/// Answers POST /v1/messages/count_tokens: returns {"input_tokens": n}. The body need not have
/// max_tokens. Where the body manages the context, the answer also has the number before edits,
/// which is the same. The time grows with the conversation, so do not call it on a thread that
/// others wait for.
[[nodiscard]] ApiResult<std::string> count_message_tokens(simdjson::dom::object body,
                                                          const ApiContext& context);

/// Makes a writer of a message, or of its events.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_message_writer(
    MessageOptions options, std::shared_ptr<const ServedModel> model);

}  // namespace weft
