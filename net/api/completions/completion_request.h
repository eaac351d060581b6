#pragma once

#include <simdjson.h>

#include <vector>

#include "weft/net/api/api_call.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// The decoded body of the chat or text completion API, before its answer's writer is made.
struct CompletionRequest {
  std::vector<Request> parts{};
  CompletionOptions options{};
};

/// Reads the body for decode_completion(), without making a writer.
[[nodiscard]] ApiResult<CompletionRequest> read_completion(simdjson::dom::object body,
                                                           const ApiContext& context);

}  // namespace weft
