#pragma once

#include <simdjson.h>

#include <vector>

#include "weft/net/api/api_call.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// What a body of the chat or text completion API asks for, before there is anybody who writes the
/// answer.
struct CompletionRequest {
  std::vector<Request> parts{};
  CompletionOptions options{};
};

/// decode_completion() without its writer.
[[nodiscard]] ApiResult<CompletionRequest> read_completion(simdjson::dom::object body,
                                                           const ApiContext& context);

}  // namespace weft
