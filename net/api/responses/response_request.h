#pragma once

#include <simdjson.h>

#include <vector>

#include "weft/net/api/api_call.h"
#include "weft/net/api/responses/response_api.h"

namespace weft {

/// The decoded body of the Responses API, before its answer's writer is made.
struct ResponseRequest {
  std::vector<Request> parts{};
  ResponseOptions options{};
  Framing framing = Framing::kBody;
};

/// Reads the body for decode_response(), without a writer and without the search for the previous
/// response. `previous` is the response that the body names; null when it names none.
[[nodiscard]] ApiResult<ResponseRequest> read_response(simdjson::dom::object body,
                                                       const ApiContext& context,
                                                       const StoredResponse* previous,
                                                       bool generate);

}  // namespace weft
