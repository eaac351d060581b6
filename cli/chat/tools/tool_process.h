#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weft::cli {

/// The bytes of a command's output that are kept, which is more than most contexts have room for;
/// the rest is read and dropped.
inline constexpr std::size_t kMostToolOutput = std::size_t{32} << 10;
/// A command that was told to end but runs on is killed after this time.
inline constexpr std::chrono::milliseconds kToolGrace = std::chrono::seconds(2);

/// Runs one command, with its input on standard input, and collects its output on standard output
/// and standard error. The command is in a session of its own: it has no terminal to read from, and
/// Ctrl-C does not reach it. Processes that it leaves running are killed at its end.
///
/// Owner only; a thread of its own waits for the command.
class ToolProcess {
 public:
  /// `command` is a program, looked for in PATH, and its arguments. `on_end` is called once, on the
  /// other thread, when result() is there.
  ToolProcess(std::vector<std::string> command, std::string input, std::chrono::milliseconds time,
              std::function<void()> on_end);
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;
  /// Ends the command if it still runs, and waits for that.
  ~ToolProcess();

  /// Tells the command to end.
  void stop() const;
  /// Returns the model's text, valid UTF-8, once the command has ended: the command's output; where
  /// it failed, "error: " with the reason comes first.
  [[nodiscard]] std::optional<std::string> result();

 private:
  void run();

  const std::vector<std::string> command_;
  const std::string input_;
  const std::chrono::milliseconds time_;
  const std::function<void()> on_end_;
  const int stop_;  // an eventfd, readable once stop() was called
  std::mutex mutex_;
  std::optional<std::string> result_;
  std::thread thread_;
};

}  // namespace weft::cli
