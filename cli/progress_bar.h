#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::cli {

/// A line on standard error that grows as work is done, and is gone when it is over. Nothing at all
/// where standard error is no terminal. Owner only.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  /// Bytes done and in all.
  void show(std::int64_t done, std::int64_t total);

 private:
  std::string label_;
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point drawn_at_;
};

/// The line of `width` columns: "loading  [=====>     ]  45 %  1.2 of 2.6 GB  3.1 GB/s".
[[nodiscard]] std::string progress_line(const std::string& label, std::int64_t done,
                                        std::int64_t total, double seconds, int width);

}  // namespace weft::cli
