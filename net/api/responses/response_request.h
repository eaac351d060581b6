#pragma once

#include <simdjson.h>

#include <vector>

#include "weft/net/api/api_call.h"
#include "weft/net/api/responses/response_api.h"

namespace weft {

/// The decoded body of the Responses API, before there is a writer of its answer.
struct ResponseRequest {
  std::vector<Request> parts{};
  ResponseOptions options{};
  Framing framing = Framing::kBody;
};

/// The part of decode_response() that reads the body, without a writer and without the search for
/// the previous response: `previous` is the one that the body names, null when there is none.
[[nodiscard]] ApiResult<ResponseRequest> read_response(simdjson::dom::object body,
                                                       const ApiContext& context,
                                                       const StoredResponse* previous,
                                                       bool generate);

}  // namespace weft
