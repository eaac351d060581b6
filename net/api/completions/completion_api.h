#pragma once

#include <simdjson.h>

#include <memory>

#include "weft/net/api/api_call.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// Decodes the body of POST /v1/completions: a prompt of text or tokens, or a list of them (each
/// becomes a part).
///
/// Source: OpenAI's API reference, "Create completion".
[[nodiscard]] ApiResult<ApiCall> decode_completion(simdjson::dom::object body,
                                                   const ApiContext& context);

/// Makes a writer of text_completion objects, with [DONE] after the last of a stream.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_completion_writer(
    CompletionOptions options, std::shared_ptr<const ServedModel> model);

}  // namespace weft
