#include "weft/net/http/http_reply.h"

#include <spdlog/fmt/chrono.h>

#include <array>
#include <charconv>
#include <chrono>

namespace weft {
namespace {

void append_header(std::string_view name, std::string_view value, std::string& out) {
  out.append(name).append(": ").append(value).append("\r\n");
}

std::string_view reason_of(unsigned status) {
  if (status == 499) return "Client Closed Request";
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  return {reason.data(), reason.size()};
}

void append_number(std::size_t number, int base, std::string& out) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), number, base);
  out.append(digits.data(), end.ptr);
}

}  // namespace

HttpReply error_reply(const ApiError& error) {
  HttpReply reply{
      .status = static_cast<unsigned>(error.status), .body = error_body(error), .error = error};
  if (error.retry_after.count() > 0) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(error.retry_after);
    reply.headers.emplace_back("Retry-After", std::to_string(seconds.count()));
  }
  if (error.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

void append_head(const HttpHead& head, std::string& out) {
  out.append(head.http10 ? "HTTP/1.0 " : "HTTP/1.1 ");
  append_number(head.status, 10, out);
  out.append(" ").append(reason_of(head.status)).append("\r\n");
  if (!head.date.empty()) append_header("Date", head.date, out);
  if (!head.content_type.empty()) append_header("Content-Type", head.content_type, out);
  if (head.headers != nullptr) {
    for (const auto& [name, value] : *head.headers) append_header(name, value, out);
  }
  if (head.status == 204) {
    // Such an answer has no body, and no header about one (RFC 9110, section 8.6).
  } else if (head.length != nullptr) {
    append_header("Content-Length", std::to_string(*head.length), out);
  } else if (!head.http10) {
    append_header("Transfer-Encoding", "chunked", out);
  }
  if (!head.keep_alive) {
    append_header("Connection", "close", out);
  } else if (head.http10) {
    append_header("Connection", "keep-alive", out);
  }
  out.append("\r\n");
}

std::string http_date(std::chrono::sys_seconds time) {
  // fmt writes English names of days and months in every locale.
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(time));
}

void append_chunk(std::string_view bytes, std::string& out) {
  append_number(bytes.size(), 16, out);
  out.append("\r\n").append(bytes).append("\r\n");
}

}  // namespace weft
