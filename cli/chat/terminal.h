#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/serve/interrupts.h"

namespace weft::cli {

/// A terminal at which a person types, with history and completion; or a pipe of lines, without
/// history, completion and prompts. Owner only, but for wake().
class Terminal {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// Called while read() waits for a line: after wake(), and at the time that the last call
  /// returned. It may print.
  using Idle = std::function<std::optional<Time>()>;

  enum class What : std::uint8_t {
    kLine,
    kInterrupt,  ///< Ctrl-C; `line` is the text typed so far
    kEnd,        ///< Ctrl-D, or the pipe's end
  };
  struct Input {
    What what = What::kEnd;
    std::string line{};
  };
  enum class Event : std::uint8_t {
    kWoken,
    kInterrupt,
    kTime,
    kEnded,  ///< a signal of TakenSignals came: see ended_by()
  };

  /// `completions` returns the words that may replace the line's last word.
  explicit Terminal(std::function<std::vector<std::string>(std::string_view)> completions);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Whether a person types at a terminal.
  [[nodiscard]] bool interactive() const noexcept { return editor_ != nullptr; }
  /// Returns the width of a line of output; 80 where output is no terminal.
  [[nodiscard]] static std::size_t columns() noexcept;
  [[nodiscard]] Input read(const std::string& prompt, const Idle& idle);
  /// Reads the answer to an unexpected question: keys that were typed before it are dropped, and
  /// the history does not keep the answer.
  [[nodiscard]] Input ask(const std::string& question, const Idle& idle);
  /// Waits without reading, for the time in which an answer comes.
  [[nodiscard]] Event wait(std::optional<Time> until);
  /// The signal that has told the program to end, once wait() has said so.
  [[nodiscard]] int ended_by() const noexcept { return ended_by_; }
  void wake() const noexcept { interrupts_.wake(); }

  /// Prints on standard output, at once. On a terminal, control characters other than line ends and
  /// tabs are left out, so that a model's output cannot move the cursor.
  void print(std::string_view text);
  /// Prints a line for the user alone, on standard error.
  void note(std::string_view text);
  /// Prints a line beside the answer: dim on a terminal, else a note.
  void aside(std::string_view text);
  /// Shows a dim line that the next output replaces; nothing where there is no terminal.
  void status(std::string_view text);

 private:
  class Editor;
  [[nodiscard]] Input read(const std::string& prompt, const Idle& idle, bool remember);
  /// Waits for `input` (-1: for nothing) too. Returns true when it is readable.
  [[nodiscard]] bool poll(int input, std::optional<Time> until) const;
  void run_idle(const Idle& idle);
  [[nodiscard]] Input read_pipe(const Idle& idle);
  void before_output();

  Interrupts interrupts_;
  std::unique_ptr<Editor> editor_;
  std::optional<Time> due_;
  std::string buffer_;  // bytes read from a pipe and not returned yet
  int ended_by_ = 0;
  bool pipe_ended_ = false;
  bool editing_ = false;      // a prompt is on the screen
  bool prompt_gone_ = false;  // output was printed over the prompt
  bool status_shown_ = false;
};

}  // namespace weft::cli
