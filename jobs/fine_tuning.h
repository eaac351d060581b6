#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/core/io/file_descriptor.h"
#include "weft/core/metrics.h"
#include "weft/jobs/files/file_store.h"
#include "weft/jobs/tuning/job_runner.h"
#include "weft/jobs/tuning/job_store.h"
#include "weft/jobs/tuning/job_trainer.h"
#include "weft/jobs/tuning/tuned_models.h"
#include "weft/jobs/tuning/tuning_metrics.h"

namespace weft {

/// Fine-tuning for the clients of a server: their files and jobs, in a folder that one process has
/// at a time. An owner never sees files or jobs of another owner. Thread-safe; all functions but
/// stop(), on_base_loaded(), refresh_metrics(), job() and jobs() may wait for the disk.
class FineTuning {
 public:
  /// Gets messages for the server's operator, on any thread.
  using Notice = std::function<void(const std::string& what)>;

  /// Opens Config::training_folder, and makes it if need be. When it returns, the engine serves the
  /// models of earlier jobs; each model that cannot be served is reported by a notice. Unfinished
  /// jobs go on. kBadFolder: another process has the folder, or it is of another version; FileErrc.
  /// `metrics` gets the metrics of files and jobs, and must outlive the result; null: there are
  /// none.
  [[nodiscard]] static Result<std::unique_ptr<FineTuning>> open(const Config& config,
                                                                std::unique_ptr<JobTrainer> trainer,
                                                                const Notice& notice = {},
                                                                MetricsRegistry* metrics = nullptr);
  FineTuning(const FineTuning&) = delete;
  FineTuning& operator=(const FineTuning&) = delete;
  /// Stops the job that is under way, and saves its state. The engine must still be there.
  ~FineTuning() = default;

  /// Stops the running job, and begins no other: queued jobs wait for the next start. Does not
  /// wait.
  void stop() { runner_->end(); }

  /// To be called when the engine has loaded a base, which has no adapters then. The fine-tuned
  /// models of the base are served again soon. Any thread; does not wait.
  void on_base_loaded(const std::string& model) { models_.on_base_loaded(model); }

  /// Sets the metrics that are levels, as the number of jobs. Does not wait.
  void refresh_metrics();

  [[nodiscard]] FileStore& files() noexcept { return files_; }

  /// Queues a new job, which has owner, model, suffix, training file, settings and metadata.
  /// kBadJob naming the field; kFull; FileErrc.
  [[nodiscard]] Result<JobRecord> create(JobRecord job);
  /// Returns a job with its events, or without them. kNoSuchJob.
  [[nodiscard]] Result<JobRecord> job(std::string_view id, std::string_view owner) const {
    return jobs_.find(id, owner);
  }
  [[nodiscard]] Result<JobSummary> summary(std::string_view id, std::string_view owner) const {
    return jobs_.summary(id, owner);
  }
  /// The owner's jobs, the newest first.
  [[nodiscard]] std::vector<JobSummary> jobs(std::string_view owner) const {
    return jobs_.list(owner);
  }
  /// Each stops the job and returns it. kNoSuchJob; kWrongState; kNotWritten: the job is stopped,
  /// and its record cannot be written. Another call tries to write it.
  [[nodiscard]] Result<JobRecord> cancel(const std::string& id, std::string_view owner);
  [[nodiscard]] Result<JobRecord> pause(const std::string& id, std::string_view owner);
  /// Returns the queued job. kNoSuchJob; kWrongState; FileErrc: it stays paused.
  [[nodiscard]] Result<JobRecord> resume(const std::string& id, std::string_view owner);
  /// Takes a job's model away: requests no longer find it, and its files are deleted. kNoSuchJob:
  /// the owner has no job with a model of that name; EngineErrc::kOverloaded: it is served as
  /// before; kNotWritten.
  [[nodiscard]] Result<void> delete_model(std::string_view name, std::string_view owner);

 private:
  FineTuning(FileDescriptor lock, FileStore files, JobStore jobs,
             std::unique_ptr<JobTrainer> trainer, JobRunner::Options options,
             MetricsRegistry* metrics);

  FileDescriptor lock_;
  FileStore files_;
  JobStore jobs_;
  const std::unique_ptr<JobTrainer> trainer_;
  std::optional<TuningMetrics> metrics_;
  TunedModels models_;
  std::optional<JobRunner> runner_;  // last, since it uses the others
};

}  // namespace weft
