#pragma once

#include <simdjson.h>

#include <boost/json/object.hpp>
#include <string_view>

#include "weft/net/api/api_call.h"

namespace weft {

/// Decodes the body of POST /v1/responses/compact, which holds a conversation in the form of a
/// response's. The model is asked to summarize it. The answer can begin a new conversation: it has
/// the user's messages unchanged, and an item of the type "compaction" with the summary. Nothing is
/// stored.
///
/// Source: Open Responses, "Compact a response" (2026-04-08).
[[nodiscard]] ApiResult<ApiCall> decode_compaction(simdjson::dom::object body,
                                                   const ApiContext& context);

/// Returns the chat template's message for a "compaction" item of an `input`.
[[nodiscard]] boost::json::object message_of_compaction(std::string_view summary);

}  // namespace weft
