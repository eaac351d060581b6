#include "weft/net/api/ollama/ollama_api.h"

#include <utility>

namespace weft {
namespace {

ApiResult<ApiCall> ollama_call(ApiResult<OllamaRequest> read, const ApiContext& context) {
  if (!read) return read.error();
  ApiCall call;
  call.parts = std::move(read->parts);
  call.framing = read->options.stream ? Framing::kLines : Framing::kBody;
  call.object_id = read->options.id;
  call.writer = make_ollama_writer(std::move(read->options), context.card.model);
  return call;
}

}  // namespace

ApiResult<ApiCall> decode_ollama_chat(simdjson::dom::object body, const ApiContext& context) {
  return ollama_call(read_ollama_chat(body, context), context);
}

ApiResult<ApiCall> decode_ollama_generate(simdjson::dom::object body, const ApiContext& context) {
  return ollama_call(read_ollama_generate(body, context), context);
}

}  // namespace weft
