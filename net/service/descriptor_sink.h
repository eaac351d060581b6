#pragma once

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace weft {

/// Writes lines to a file descriptor that may not take them, such as a pipe that nobody reads,
/// without ever making a logging thread wait: lines are queued, and a thread of the sink's own
/// writes the lines of some milliseconds together. Beyond net_defaults::kMaxQueuedLogBytes lines
/// are dropped and counted; once there is room again, a line says how many. When the reader has
/// gone, lines are lost and no SIGPIPE is sent. The thread starts with the first line.
///
/// Thread-safe. Not spdlog's asynchronous logger, since that one's thread waits in write(), and the
/// process at its end for that thread.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// The text of the line that says how many were dropped, as the logger's pattern wants it.
  using DroppedText = std::function<std::string(std::uint64_t lines)>;

  /// `descriptor` is borrowed and stays blocking or not, as it is.
  DescriptorSink(int descriptor, DroppedText dropped_text);
  /// Writes the queued lines, for at most net_defaults::kLastLogLines.
  ~DescriptorSink() override;

  /// How many lines were dropped since the last call.
  [[nodiscard]] std::uint64_t take_dropped() noexcept { return dropped_.exchange(0); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  /// Waits until the queued lines are written, for at most net_defaults::kLastLogLines.
  void flush_() override;

  void run() noexcept;
  std::string next_text();
  [[nodiscard]] std::string_view write(std::string_view text) noexcept;
  [[nodiscard]] bool wait_until_writable() noexcept;
  void drop(std::uint64_t lines) noexcept;

  const int descriptor_;
  const DroppedText dropped_text_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> stopping_{false};

  // Under the base's mutex.
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t untold_ = 0;  // dropped, and no line has said so
  int flushing_ = 0;          // threads that wait in flush_()
  std::thread thread_;

  // The thread's own: how often it still looks for a reader once the program ends.
  std::int64_t last_looks_;
};

}  // namespace weft
