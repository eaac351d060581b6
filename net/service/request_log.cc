#include "weft/net/service/request_log.h"

#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "weft/core/text/utf8.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/service/descriptor_sink.h"

namespace weft {
namespace {

// The bytes of a prompt in a log line: enough to recognise it.
constexpr std::size_t kMostOfBody = 1000;

/// Requests that machines make every few seconds are logged at a lower level.
spdlog::level::level_enum level_of(const LoggedRequest& request) {
  for (const std::string_view path : {"/health", "/live", "/metrics", "/requests"}) {
    if (request.path == path) return spdlog::level::debug;
  }
  return request.status >= 500 ? spdlog::level::warn : spdlog::level::info;
}

/// Escapes a path as in a URL. A client chooses its bytes, which must not end a line of the log.
std::string escaped(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c > ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string message_field(std::string_view text) {
  return "\"message\":" + boost::json::serialize(boost::json::string(text));
}

std::string dropped_text(std::uint64_t lines) {
  return fmt::format("{} lines of the log were dropped, since nobody read it", lines);
}

}  // namespace

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  return std::string(cut_utf8(text, bytes)) + "...";
}

std::shared_ptr<spdlog::logger> make_stderr_logger(RequestLog::Format format,
                                                   std::string_view level) {
  const bool json = format == RequestLog::Format::kJson;
  auto sink = std::make_shared<DescriptorSink>(STDERR_FILENO, [json](std::uint64_t lines) {
    return json ? message_field(dropped_text(lines)) : dropped_text(lines);
  });
  auto logger = std::make_shared<spdlog::logger>("weft", std::move(sink));
  logger->set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                           : "%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spdlog::level::from_str(std::string(level)));
  return logger;
}

RequestLog::RequestLog(std::shared_ptr<spdlog::logger> logger, Format format, bool prompts)
    : logger_(std::move(logger)), format_(format), prompts_(prompts) {}

void RequestLog::note(spdlog::level::level_enum level, std::string_view what) {
  if (format_ == Format::kText) {
    logger_->log(level, "{}", what);
  } else if (logger_->should_log(level)) {
    logger_->log(level, "{}", message_field(what));
  }
}

void RequestLog::request(const LoggedRequest& request) noexcept {
  try {
    if (!logger_->should_log(level_of(request))) return;
    if (format_ == Format::kJson) {
      write_json(request);
    } else {
      write_text(request);
    }
  } catch (const std::exception&) {  // no way is left to report it
  }
}

void RequestLog::failure(std::string_view what, const std::exception& why) noexcept {
  try {
    error(std::string(what) + ": " + why.what());
  } catch (const std::exception&) {  // no way is left to report it
  }
}

void RequestLog::flush() noexcept {
  try {
    logger_->flush();
  } catch (const std::exception&) {  // no way is left to report it
  }
}

std::uint64_t RequestLog::take_dropped() noexcept {
  std::uint64_t lines = 0;
  for (const auto& sink : logger_->sinks()) {
    if (auto* const own = dynamic_cast<DescriptorSink*>(sink.get())) lines += own->take_dropped();
  }
  return lines;
}

void RequestLog::write_text(const LoggedRequest& request) {
  std::string line = fmt::format("{} {} {} {} {:.3f}s", request.client, request.method,
                                 escaped(request.path), request.status, request.took.count());
  if (request.prompt_tokens + request.output_tokens > 0) {
    line += fmt::format(" in={} out={}", request.prompt_tokens, request.output_tokens);
  }
  if (!request.error.empty()) line += fmt::format(" error={}", request.error);
  if (!request.warning.empty()) line += fmt::format(" warning=\"{}\"", request.warning);
  if (!request.key.empty()) line += fmt::format(" key={}", request.key);
  line += fmt::format(" id={}", request.request_id);
  if (prompts_ && !request.body.empty()) {
    // A request is one line, in UTF-8: control characters are escaped, other bytes replaced.
    line += " body=";
    append_json_string(line, shortened(request.body, kMostOfBody));
  }
  logger_->log(level_of(request), "{}", line);
}

void RequestLog::write_json(const LoggedRequest& request) {
  boost::json::object fields{{"message", "request"},
                             {"request_id", request.request_id},
                             {"client", request.client},
                             {"method", request.method},
                             {"path", escaped(request.path)},
                             {"status", request.status},
                             {"seconds", request.took.count()},
                             {"prompt_tokens", request.prompt_tokens},
                             {"output_tokens", request.output_tokens}};
  if (!request.error.empty()) fields["error"] = request.error;
  if (!request.warning.empty()) fields["warning"] = request.warning;
  if (!request.key.empty()) fields["key"] = request.key;
  const std::string text = boost::json::serialize(fields);
  std::string inner = text.substr(1, text.size() - 2);
  if (prompts_ && !request.body.empty()) {
    inner += R"(,"body":)";
    append_json_string(inner, shortened(request.body, kMostOfBody));
  }
  logger_->log(level_of(request), "{}", inner);
}

}  // namespace weft
