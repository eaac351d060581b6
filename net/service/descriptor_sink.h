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

/// Writes lines to a file descriptor that may not take them, such as a pipe that nobody reads, and
/// never lets a logging thread wait. Lines are queued, and the sink's own thread writes the lines
/// of some milliseconds together. Beyond net_defaults::kMaxQueuedLogBytes lines are dropped and
/// counted; once there is room again, a line says how many. When the reader has gone, lines are
/// lost and no SIGPIPE is sent. The thread starts with the first line.
///
/// Thread-safe. It replaces spdlog's asynchronous logger, whose thread waits in write() and delays
/// the end of the process.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// Returns the line that says how many lines were dropped, in the logger's pattern.
  using DroppedText = std::function<std::string(std::uint64_t lines)>;

  /// `descriptor` is borrowed; whether it blocks is not changed.
  DescriptorSink(int descriptor, DroppedText dropped_text);
  /// Writes the queued lines, for at most net_defaults::kLastLogLines.
  ~DescriptorSink() override;

  /// Returns how many lines were dropped since the last call.
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

  // The members below are guarded by the base's mutex.
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t untold_ = 0;  // dropped lines that no line has reported yet
  int flushing_ = 0;          // number of threads that wait in flush_()
  std::thread thread_;

  // Used only by the thread: how often it still looks for a reader once the program ends.
  std::int64_t last_looks_;
};

}  // namespace weft
