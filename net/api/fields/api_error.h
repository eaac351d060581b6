#pragma once

#include <boost/system/result.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft {

/// The error of a client's request, in the words of OpenAI's API. Texts are valid UTF-8 and name no
/// path, pointer or other internal of the server.
struct ApiError {
  int status = 400;                            ///< the HTTP status
  std::string type = "invalid_request_error";  ///< "rate_limit_error", "server_error", ...
  std::string code{};                          ///< a word for programs; empty = null
  std::string param{};    ///< the field, as a path: "messages[2].role"; empty = null
  std::string message{};  ///< a sentence for people
  std::chrono::milliseconds retry_after{0};  ///< when another try is worthwhile; 0 = not said
};

/// Called by ApiResult::value() when there is no value: throws boost::system::system_error.
[[noreturn]] void throw_exception_from_error(const ApiError& error,
                                             const boost::source_location& where);

template <class T>
using ApiResult = boost::system::result<T, ApiError>;

/// Codes for bad_field(). They are OpenAI's codes where OpenAI has one.
namespace api_code {
inline constexpr std::string_view kInvalidJson = "invalid_json";
inline constexpr std::string_view kInvalidType = "invalid_type";
inline constexpr std::string_view kInvalidValue = "invalid_value";
inline constexpr std::string_view kMissing = "missing_required_parameter";
inline constexpr std::string_view kUnknown = "unknown_parameter";
inline constexpr std::string_view kDuplicate = "duplicate_parameter";
inline constexpr std::string_view kUnsupported = "unsupported";
inline constexpr std::string_view kModelNotFound = "model_not_found";
inline constexpr std::string_view kPreviousNotFound = "previous_response_not_found";
inline constexpr std::string_view kContextLength = "context_length_exceeded";
/// Anthropic's code, after which their client sends the whole conversation.
inline constexpr std::string_view kNoThreads = "thread_unsupported_request";
}  // namespace api_code

/// Makes a 400 about one field, with the message "param: what". An empty param means the whole
/// body.
[[nodiscard]] ApiError bad_field(std::string_view param, std::string_view what,
                                 std::string_view code = api_code::kInvalidValue);

/// Returns a client's own text for an error message: in quotes, valid UTF-8, and cut after some 64
/// bytes.
[[nodiscard]] std::string shown(std::string_view text);
/// Returns a path that contains a client's text. It is cut like shown(), but without quotes.
[[nodiscard]] std::string shown_path(std::string_view path);

/// Returns the error of an engine request that was refused or failed. An error that the client
/// caused keeps the engine's message, and param is the field that begins the message ("stop[1]:
/// ..."). A failure of the server has no detail. Without a `retry_after`, 429 and 503 say one
/// second.
[[nodiscard]] ApiError api_error_of(const Error& error, std::chrono::milliseconds retry_after = {});

/// Appends {"message":...,"type":...,"param":...,"code":...}.
void append_error(const ApiError& error, std::string& out);
/// Appends a WebSocket's error message,
/// {"type":"error","status":...,"stream_id":...,"error":{...}}, with the `stream_id` where that is
/// not empty.
void append_error_event(const ApiError& error, std::string_view stream_id, std::string& out);
/// Returns {"error":{...}}.
[[nodiscard]] std::string error_body(const ApiError& error);

}  // namespace weft
