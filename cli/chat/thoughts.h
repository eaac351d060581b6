#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::cli {

/// The thoughts of a model before its answer, which are shown folded: as one line with their size.
/// Owner only.
class Thoughts {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Forgets everything, for the next question.
  void clear();
  /// Begins an answer without thoughts; earlier thoughts are kept.
  void begin_answer() noexcept;
  /// Adds to the thoughts that are under way at `now`, or begins new ones.
  void add(std::string_view text, Time now);
  /// Ends the thoughts that are under way.
  void end() noexcept { under_way_ = false; }

  [[nodiscard]] bool under_way() const noexcept { return under_way_; }
  /// Returns the size of the latest thoughts, as "12 words, 3 s".
  [[nodiscard]] std::string size(Time now) const;
  /// Returns the latest answer's thoughts; none if begin_answer() was called since.
  [[nodiscard]] std::string_view last() const noexcept {
    return std::string_view(text_).substr(begin_);
  }
  /// Returns all thoughts since clear().
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::size_t begin_ = 0;  // where the latest thoughts begin
  std::size_t words_ = 0;
  bool in_word_ = false;
  bool under_way_ = false;
  Time since_{};
};

}  // namespace weft::cli
