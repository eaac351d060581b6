#include "weft/net/api/error_shape.h"

#include "weft/net/api/fields/json_text.h"

namespace weft {
namespace {

/// Returns Anthropic's type for a status. Anthropic's own statuses 413, 504 and 529 have types of
/// their own.
std::string_view anthropic_type(int status) noexcept {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 408:
      return "timeout_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

/// The words that tell clients of the Messages API to shorten a conversation.
constexpr std::string_view kTooLong = "prompt is too long: ";

std::string anthropic_body(const ApiError& error, std::string_view request_id) {
  std::string body = R"({"type":"error","error":{"type":)";
  append_json_string(body, anthropic_type(error.status));
  body += R"(,"message":)";
  const bool too_long = error.code == api_code::kContextLength;
  append_json_string(body, std::string(too_long ? kTooLong : "") + error.message);
  if (!error.code.empty()) {
    body += R"(,"details":{"error_code":)";
    append_json_string(body, error.code);
    body += "}";
  }
  body += "}";
  if (!request_id.empty()) {
    body += R"(,"request_id":)";
    append_json_string(body, request_id);
  }
  return body + "}";
}

bool is_below(std::string_view target, std::string_view path) noexcept {
  return target.starts_with(path) &&
         (target.size() == path.size() || target[path.size()] == '/' || target[path.size()] == '?');
}

}  // namespace

ErrorShape error_shape_of(std::string_view target) noexcept {
  if (is_below(target, "/v1/messages")) return ErrorShape::kAnthropic;
  return is_below(target, "/api") ? ErrorShape::kOllama : ErrorShape::kOpenAi;
}

std::string error_body(const ApiError& error, ErrorShape shape, std::string_view request_id) {
  if (shape == ErrorShape::kOpenAi) return error_body(error);
  if (shape == ErrorShape::kAnthropic) return anthropic_body(error, request_id);
  std::string body = "{\"error\":";
  append_json_string(body, error.message);
  return body + "}";
}

}  // namespace weft
