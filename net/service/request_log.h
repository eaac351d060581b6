#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

/// One request and the outcome of its answer.
struct LoggedRequest {
  std::string_view request_id;
  std::string_view client;  ///< the client's address
  std::string_view key;     ///< the holder's name; empty without keys
  std::string_view method;
  std::string_view path;
  unsigned status = 0;
  std::string_view error;      ///< the error's code; empty when there was none
  std::string_view warning{};  ///< the value of kWarningHeader; empty: none
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::chrono::duration<double> took{};
  std::string_view body;  ///< the request's text, when prompts are logged; cut between characters
};

/// The server's log: a line for each request, and a few about the server's own state. Prompts are
/// logged only when configured. Thread-safe, as spdlog's loggers are; the program chooses its
/// sinks.
class RequestLog {
 public:
  enum class Format : std::uint8_t { kText, kJson };

  RequestLog(std::shared_ptr<spdlog::logger> logger, Format format, bool prompts);

  /// Logs a request. A line that cannot be written for lack of memory is dropped.
  void request(const LoggedRequest& request) noexcept;
  void failure(std::string_view what, const std::exception& why) noexcept;
  /// Waits until the logged lines are written, for a process that ends without destructors. It does
  /// not wait long where nobody reads the log.
  void flush() noexcept;
  void info(std::string_view what) { note(spdlog::level::info, what); }
  void warning(std::string_view what) { note(spdlog::level::warn, what); }
  void error(std::string_view what) { note(spdlog::level::err, what); }
  [[nodiscard]] bool prompts() const noexcept { return prompts_; }
  /// How many lines were dropped since the last call, because the log has no reader.
  [[nodiscard]] std::uint64_t take_dropped() noexcept;

 private:
  void note(spdlog::level::level_enum level, std::string_view what);
  void write_text(const LoggedRequest& request);
  void write_json(const LoggedRequest& request);

  const std::shared_ptr<spdlog::logger> logger_;
  const Format format_;
  const bool prompts_;
};

/// Returns `text` cut to at most `bytes`, not inside a character, with "..." behind it when it was
/// longer.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t bytes);

/// Makes a logger that writes to standard error in the pattern of the format, and never waits for a
/// reader (DescriptorSink). Levels are those of docs/configuration.md.
[[nodiscard]] std::shared_ptr<spdlog::logger> make_stderr_logger(RequestLog::Format format,
                                                                 std::string_view level);

}  // namespace weft
