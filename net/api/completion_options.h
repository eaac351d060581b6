#pragma once

#include <string_view>

#include "weft/net/api/body_fields.h"
#include "weft/net/api/chat_api.h"

namespace weft {

/// `model`, `stream` and `stream_options`, and what else begins every answer of the chat and text
/// completion APIs. Mistakes stay in `fields`.
[[nodiscard]] CompletionOptions take_options(BodyFields& fields, const ApiContext& context,
                                             std::string_view id_prefix);

}  // namespace weft
