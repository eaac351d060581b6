#pragma once

#include <simdjson.h>

#include <vector>

#include "weft/net/api/api_call.h"
#include "weft/net/api/completions/completion_options.h"

namespace weft {

/// The decoded body of the chat or text completion API, before there is a writer of its answer.
struct CompletionRequest {
  std::vector<Request> parts{};
  CompletionOptions options{};
};

/// The part of decode_completion() that reads the body, without a writer.
[[nodiscard]] ApiResult<CompletionRequest> read_completion(simdjson::dom::object body,
                                                           const ApiContext& context);

}  // namespace weft
