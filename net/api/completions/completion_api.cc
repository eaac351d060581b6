#include "weft/net/api/completions/completion_api.h"

#include <utility>

#include "weft/net/api/completions/completion_request.h"

namespace weft {

ApiResult<ApiCall> decode_completion(simdjson::dom::object body, const ApiContext& context) {
  auto read = read_completion(body, context);
  if (!read) return read.error();
  ApiCall call;
  call.parts = std::move(read->parts);
  call.framing = read->options.stream ? Framing::kSse : Framing::kBody;
  call.object_id = read->options.id;
  call.writer = make_completion_writer(std::move(read->options), context.card.model);
  return call;
}

}  // namespace weft
