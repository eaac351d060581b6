#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// The bytes that a connection has to write: the bytes that are being sent, and bytes that collect
/// behind them. Its size is bounded by the appended bytes, because an answer's next bytes are
/// fetched only when nothing is being sent. Owner only.
class OutputBuffer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Returns the buffer for the next write; callers append to it.
  [[nodiscard]] std::string& next() noexcept { return next_; }
  [[nodiscard]] bool sending() const noexcept { return sending_; }

  /// Begins to send the appended bytes; only when nothing is being sent.
  void begin();
  /// Returns the bytes of the current write that the socket has not taken yet.
  [[nodiscard]] std::string_view unsent() const noexcept {
    return std::string_view(current_).substr(sent_);
  }
  /// Notes that the socket took this many bytes; the write ends with the last of them.
  void took(std::size_t bytes);
  /// Whether the client has taken nothing for longer than `limit`.
  [[nodiscard]] bool is_stuck(Time now, std::chrono::steady_clock::duration limit) const noexcept {
    return sending_ && now - progress_ > limit;
  }

  /// Returns when the client last took bytes, or when sending last began.
  [[nodiscard]] Time progress() const noexcept { return progress_; }

  /// Frees the memory of a large answer.
  void shrink();

 private:
  std::string next_;
  std::string current_;
  std::size_t sent_ = 0;
  bool sending_ = false;
  Time progress_{};
};

}  // namespace weft
