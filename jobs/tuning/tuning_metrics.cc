#include "weft/jobs/tuning/tuning_metrics.h"

#include <algorithm>
#include <string>

namespace weft {

TuningMetrics::TuningMetrics(MetricsRegistry& registry)
    : steps_(registry.counter("weft_fine_tuning_steps_total", "Steps that jobs have trained")),
      tokens_(registry.counter("weft_fine_tuning_tokens_total", "Tokens that jobs have trained")),
      seconds_(registry.histogram("weft_fine_tuning_step_seconds",
                                  "Time of a job's step, with the requests that ran meanwhile",
                                  kLatencyBounds)),
      files_(registry.gauge("weft_fine_tuning_files", "Files in the training folder")),
      file_bytes_(registry.gauge("weft_fine_tuning_file_bytes",
                                 "Bytes of files, also of deleted ones that a job still needs")) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    jobs_[i] = &registry.gauge("weft_fine_tuning_jobs", "Jobs in the training folder, by status",
                               {{"status", std::string(to_string(static_cast<JobStatus>(i)))}});
  }
}

void TuningMetrics::count_step(std::int64_t tokens, double seconds) noexcept {
  steps_.add();
  tokens_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 0)));
  seconds_.observe(seconds);
}

void TuningMetrics::set_levels(const std::array<std::size_t, kJobStatuses>& jobs,
                               const FileStore::Use& files) noexcept {
  for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i]->set(static_cast<double>(jobs[i]));
  files_.set(static_cast<double>(files.files));
  file_bytes_.set(static_cast<double>(files.bytes));
}

}  // namespace weft
