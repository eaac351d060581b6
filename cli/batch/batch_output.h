#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft::cli {

/// The file that results go to. A line is written as a whole or not at all. Owner only.
class BatchOutput {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Creates the file, or opens the one that exists, and locks it, so that no other process writes
  /// it. Errors: the system's, with the path.
  [[nodiscard]] static Result<BatchOutput> open(const std::string& path);
  BatchOutput(BatchOutput&& other) noexcept;
  BatchOutput& operator=(BatchOutput&&) = delete;
  ~BatchOutput();

  /// Whether `path` leads to this file, under any name.
  [[nodiscard]] bool is(const std::string& path) const;
  /// Reads the file's content; a pipe or a device has none.
  [[nodiscard]] Result<std::string> read() const;
  /// Cuts the file off after the first `bytes`.
  [[nodiscard]] Result<void> cut(std::size_t bytes);
  /// Appends by one write. The part of a line that a full disk takes is cut off again before the
  /// error is returned.
  [[nodiscard]] Result<void> append(std::string_view line);
  /// Makes the file's content last through a power failure, at most once a second: a lost line
  /// costs no more than asking again.
  [[nodiscard]] Result<void> sync_sometimes(Time now);
  [[nodiscard]] Result<void> sync();

 private:
  BatchOutput(std::string path, int file) : path_(std::move(path)), file_(file) {}
  [[nodiscard]] Error failed(int number) const;

  std::string path_;
  int file_;
  bool regular_ = false;  // else it is a pipe or a device, where nothing is kept or cut
  std::size_t size_ = 0;
  bool dirty_ = false;
  Time synced_{};
};

}  // namespace weft::cli
