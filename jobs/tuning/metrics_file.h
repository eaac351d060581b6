#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "weft/core/error/error.h"
#include "weft/train/tuning_job.h"

namespace weft {

/// The steps of a job as lines of CSV: step, train_loss, learning_rate, grad_norm, tokens. Only
/// whole lines count, so a process may end while it appends. Owner only.
class MetricsFile {
 public:
  explicit MetricsFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// The lines that cut() has kept.
  struct Left {
    std::int64_t tokens = 0;
    double loss = 0;  ///< of the last step; 0: there is none
  };
  /// Drops the lines after a step, since the job will repeat these steps; creates the file if it
  /// does not exist. FileErrc.
  [[nodiscard]] Result<Left> cut(std::int64_t step) const;
  /// Appends steps, and returns when they are on the disk. FileErrc, behind which the file is as
  /// before.
  [[nodiscard]] Result<void> append(std::span<const StepReport> steps) const;
  /// Returns the whole file. FileErrc.
  [[nodiscard]] Result<std::string> text() const;

 private:
  std::filesystem::path path_;
};

}  // namespace weft
