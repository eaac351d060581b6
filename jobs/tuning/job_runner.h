#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "weft/actors/training/training_task.h"
#include "weft/core/error/error.h"
#include "weft/jobs/files/file_store.h"
#include "weft/jobs/tuning/job_progress.h"
#include "weft/jobs/tuning/job_store.h"
#include "weft/jobs/tuning/job_trainer.h"
#include "weft/jobs/tuning/metrics_file.h"
#include "weft/jobs/tuning/tuning_metrics.h"

namespace weft {

/// Runs the queued jobs of a store, one after the other, on a thread of its own. This thread waits
/// for disks and models, so that no other thread has to. The engine's threads train. After each
/// step they report to the runner without waiting for it.
///
/// The running job stops when its record says that it is cancelled or paused and stop() was called,
/// and when the runner ends. Its state is saved then, and only a part of a step is lost. A disk
/// without room does not end a job: the job waits, with all that it has trained, and writes again.
class JobRunner {
 public:
  struct Options {
    std::int64_t checkpoint_steps = 50;
    /// How long a job waits for an engine that does not train now, as its model is not loaded, or
    /// for a disk that had no room.
    std::chrono::milliseconds retry_after{10'000};
    /// Gets messages for the server's operator, on the runner's thread; may be empty.
    std::function<void(const std::string& what)> notice{};
    /// Counts the steps; may be null. It must outlive the runner.
    TuningMetrics* metrics = nullptr;
    /// Called when a job's record names its model, on the runner's thread; may be empty.
    std::function<void(const JobSummary& job)> on_model{};
  };

  /// All arguments must outlive the runner.
  JobRunner(JobStore& jobs, FileStore& files, JobTrainer& trainer, Options options);
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;
  /// Calls end(), and waits until the runner has ended.
  ~JobRunner();

  /// Tells the runner that there may be a queued job. Thread-safe.
  void wake();
  /// Stops the running job, and begins no other. Thread-safe; does not wait.
  void end();
  /// Tells the runner that a job's record was cancelled or paused. Thread-safe; does not wait.
  void stop(const std::string& id);

 private:
  /// The job that is under way.
  struct Current {
    std::string id;
    std::stop_source stop{};
    std::optional<TrainingTask> task{};
  };
  struct Run;

  void work();
  [[nodiscard]] bool begin(const JobRecord& job);
  void leave();
  void stop_locked() const;
  void give_task(const TrainingTask& task);
  [[nodiscard]] std::optional<JobRecord> wait_for_job();

  void run(const JobRecord& job);
  /// Calls `write` until it does not return kCannotWrite, or the job is stopped.
  [[nodiscard]] Result<void> patiently(Run& run, const std::function<Result<void>()>& write);
  [[nodiscard]] bool wait_for_room(Run& run, const Error& why, bool is_first);
  [[nodiscard]] Result<void> prepare(Run& run);
  [[nodiscard]] Result<void> restore(Run& run);
  [[nodiscard]] Result<void> train(Run& run);
  [[nodiscard]] Result<void> follow(Run& run) const;
  void note(Run& run, const JobProgress::News& news) const;
  [[nodiscard]] Result<void> save(Run& run, const StateToSave& state) const;
  [[nodiscard]] Result<void> complete(Run& run);
  [[nodiscard]] Result<void> write_adapter(Run& run) const;
  [[nodiscard]] Result<void> keep_metrics(Run& run, std::string& file) const;
  void discard_results(const Run& run) const;
  void end_early(Run& run, const Error& why);
  void interrupt(Run& run);
  void queue_again(const std::string& id) const;
  void fail(Run& run, const Error& why);
  void tell(const std::string& what) const;

  JobStore& jobs_;
  FileStore& files_;
  JobTrainer& trainer_;
  const Options options_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::optional<Current> current_;
  bool woken_ = false;
  bool ending_ = false;
  bool must_wait_ = false;  // the runner waits for the engine before the next job
  std::thread thread_;
};

}  // namespace weft
