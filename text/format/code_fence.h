#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// Tracks whether a text that arrives in parts is inside of a Markdown code block. A block is
/// between lines that begin with three backticks or more. Owner only.
class CodeFence {
 public:
  void add(std::string_view run) noexcept {
    for (const char c : run) add(c);
  }

  [[nodiscard]] bool open() const noexcept { return open_ != is_fence(); }

 private:
  void add(char c) noexcept {
    if (c == '`' && line_start_) {
      ++ticks_;
      return;
    }
    if (is_fence()) open_ = !open_;
    if (c == '\n') {
      line_start_ = true;
    } else if (ticks_ > 0 || c != ' ') {
      line_start_ = false;
    }
    ticks_ = 0;
  }
  [[nodiscard]] bool is_fence() const noexcept { return ticks_ >= 3; }

  bool open_ = false;
  bool line_start_ = true;  ///< only blanks and counted backticks so far
  std::uint64_t ticks_ = 0;
};

}  // namespace weft
