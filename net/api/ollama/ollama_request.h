#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/net/api/api_call.h"

namespace weft {

/// The settings of an answer of Ollama's API, besides the model's output.
struct OllamaOptions {
  std::string id{};          ///< the whole id; the answer does not contain it
  std::string model{};       ///< as the request names it
  std::string created_at{};  ///< when the request came, as in RFC 3339
  bool chat = false;         ///< the output is a `message`, else a `response`
  bool stream = true;
  bool logprobs = false;
  std::string_view done_reason{};  ///< the reason where there is no output: "load", "unload"
};

/// The decoded body of Ollama's API, before its answer's writer is made.
struct OllamaRequest {
  std::vector<Request> parts{};  ///< one request, or none where nothing is to be generated
  OllamaOptions options{};
};

/// Each reads the body for decode_ollama_chat() or decode_ollama_generate(), without making a
/// writer.
[[nodiscard]] ApiResult<OllamaRequest> read_ollama_chat(simdjson::dom::object body,
                                                        const ApiContext& context);
[[nodiscard]] ApiResult<OllamaRequest> read_ollama_generate(simdjson::dom::object body,
                                                            const ApiContext& context);

}  // namespace weft
