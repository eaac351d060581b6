#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::cli {

/// What a model thinks before it answers, which is shown folded: as one line that says how much it
/// was. Owner only.
class Thoughts {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Forgets everything, for the next question.
  void clear();
  /// Nothing has been thought yet for the answer that comes; what was thought before is kept.
  void begin_answer() noexcept;
  /// Adds to the thoughts that are under way at `now`, or begins new ones.
  void add(std::string_view text, Time now);
  /// Ends the thoughts that are under way.
  void end() noexcept { under_way_ = false; }

  [[nodiscard]] bool under_way() const noexcept { return under_way_; }
  /// Returns "12 words, 3 s" of the thoughts that began last.
  [[nodiscard]] std::string size(Time now) const;
  /// Returns the thoughts that began last; none where begin_answer() came after them.
  [[nodiscard]] std::string_view last() const noexcept {
    return std::string_view(text_).substr(begin_);
  }
  /// Returns all since clear().
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::size_t begin_ = 0;  // of those that began last
  std::size_t words_ = 0;
  bool in_word_ = false;
  bool under_way_ = false;
  Time since_{};
};

}  // namespace weft::cli
