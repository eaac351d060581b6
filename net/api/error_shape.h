#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/net/api/fields/api_error.h"

namespace weft {

/// The API whose JSON form an error has.
enum class ErrorShape : std::uint8_t {
  kOpenAi,     ///< {"error": {"message", "type", "param", "code"}}
  kAnthropic,  ///< {"type": "error", "error": {"type", "message", "details"}, "request_id"}
  kOllama,     ///< {"error": "message"}
};

/// Returns the form for a request's target, by how it begins: Anthropic's form for /v1/messages,
/// Ollama's form for /api/, and OpenAI's form for all others.
[[nodiscard]] ErrorShape error_shape_of(std::string_view target) noexcept;

/// Returns the error as the body of an answer, or as the event of a stream. Anthropic's form has
/// the request's id, where that is not empty.
[[nodiscard]] std::string error_body(const ApiError& error, ErrorShape shape,
                                     std::string_view request_id = {});

}  // namespace weft
