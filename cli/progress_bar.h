#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weft::cli {

/// A line on standard error that shows progress and is removed when the work is over. It shows
/// nothing where standard error is no terminal. Owner only.
class ProgressBar {
 public:
  /// Makes a line of `width` columns.
  using Picture = std::string (*)(const std::string& label, std::int64_t done, std::int64_t total,
                                  double seconds, int width);

  explicit ProgressBar(std::string label);
  ProgressBar(std::string label, Picture picture);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  /// Shows how much is done of how much: bytes, or the picture's own units.
  void show(std::int64_t done, std::int64_t total);
  /// Sets the beginning of the line from now on.
  void set_label(std::string label) { label_ = std::move(label); }
  /// Prints a line above the progress, also where there is no terminal.
  void note(std::string_view text);

 private:
  std::string label_;
  Picture picture_;
  bool on_terminal_;
  std::string line_;  // the line as it was last drawn
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point drawn_at_;
};

/// Makes a line of `width` columns: "loading  [=====>     ]  45 %  1.2 of 2.6 GB  3.1 GB/s".
[[nodiscard]] std::string progress_line(const std::string& label, std::int64_t done,
                                        std::int64_t total, double seconds, int width);
/// Makes a line for things that are counted: "batch  [====>      ]  45 %  45 of 100  3.2/s  17 s
/// left".
[[nodiscard]] std::string count_line(const std::string& label, std::int64_t done,
                                     std::int64_t total, double seconds, int width);

}  // namespace weft::cli
