#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kEventStreamType = "text/event-stream; charset=utf-8";
inline constexpr std::string_view kLinesType = "application/x-ndjson";

/// A whole answer of HTTP. The connection adds its own headers (Date, Content-Length, Connection).
struct HttpReply {
  unsigned status = 200;
  std::string content_type{kJsonType};
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  bool close = false;  ///< the connection ends after it
  /// The error that the reply reports, if any; `body` then has it in OpenAI's form.
  std::optional<ApiError> error{};
};

/// Makes a reply with the error's status, its body, and Retry-After when the error has one.
[[nodiscard]] HttpReply error_reply(const ApiError& error);

/// Returns the result of `make`; 500 when it throws. It is for threads that no exception may end.
template <class Make>
[[nodiscard]] HttpReply reply_or_500(const Make& make) {
  try {
    return make();
  } catch (const std::exception&) {
    return error_reply(api_error_of({EngineErrc::kInternal, {}}));
  }
}

/// The first lines of an answer, including the empty line. Without a length the body comes in
/// chunks, or with HTTP/1.0 ends with the connection; a 204 has neither.
struct HttpHead {
  unsigned status = 200;
  std::string_view date{};  ///< from http_date(); empty = none
  std::string_view content_type{};
  const std::vector<std::pair<std::string, std::string>>* headers = nullptr;
  const std::size_t* length = nullptr;
  bool keep_alive = true;
  bool http10 = false;
};
void append_head(const HttpHead& head, std::string& out);

/// Writes "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7).
[[nodiscard]] std::string http_date(std::chrono::sys_seconds time);

/// Appends a piece of a chunked body (RFC 9112, section 7.1). The piece must not be empty, because
/// an empty piece ends the body.
void append_chunk(std::string_view bytes, std::string& out);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace weft
