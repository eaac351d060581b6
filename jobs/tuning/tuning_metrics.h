#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/core/metrics.h"
#include "weft/jobs/files/file_store.h"
#include "weft/jobs/tuning/job_record.h"

namespace weft {

/// The metrics of files and jobs (docs/fine-tuning.md lists them). Thread-safe.
class TuningMetrics {
 public:
  /// The registry must outlive this object. Throws as MetricsRegistry.
  explicit TuningMetrics(MetricsRegistry& registry);

  /// Counts a step that was trained; `seconds` since the step before, or since the training began.
  void count_step(std::int64_t tokens, double seconds) noexcept;
  /// Sets the levels, which are read when somebody asks for the metrics.
  void set_levels(const std::array<std::size_t, kJobStatuses>& jobs,
                  const FileStore::Use& files) noexcept;

 private:
  std::array<Gauge*, kJobStatuses> jobs_{};
  Counter& steps_;
  Counter& tokens_;
  Histogram& seconds_;
  Gauge& files_;
  Gauge& file_bytes_;
};

}  // namespace weft
