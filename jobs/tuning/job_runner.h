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

namespace weft {

/// Carries out the queued jobs of a store, one after the other, on a thread of its own, which waits
/// for disks and models so that no other has to. The engine's threads train; after each step they
/// tell the runner, which never holds them up.
///
/// A job that is under way stops when its record is cancelled or paused and stop() says so, and
/// when the runner ends; then its state is saved, and nothing but a part of a step is lost.
class JobRunner {
 public:
  struct Options {
    std::int64_t checkpoint_steps = 50;
    /// How long a job waits for an engine that does not train now, as its model is not loaded.
    std::chrono::milliseconds retry_after{10'000};
    /// Is told what a server's operator should know; may be empty. On the runner's thread.
    std::function<void(const std::string& what)> notice{};
  };

  /// All must outlive the runner.
  JobRunner(JobStore& jobs, FileStore& files, JobTrainer& trainer, Options options);
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;
  /// As end(), and waits for that.
  ~JobRunner();

  /// There may be a queued job. Thread-safe.
  void wake();
  /// Stops the job that is under way, and begins none any more. Thread-safe; does not wait.
  void end();
  /// A job's record says that it shall not run any more. Thread-safe; does not wait.
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
  [[nodiscard]] Result<void> prepare(Run& run);
  [[nodiscard]] Result<void> restore(Run& run) const;
  [[nodiscard]] Result<void> train(Run& run);
  [[nodiscard]] Result<void> follow(Run& run) const;
  void note(Run& run, const std::vector<StepReport>& steps) const;
  [[nodiscard]] Result<void> save(Run& run, const StateToSave& state) const;
  [[nodiscard]] Result<void> complete(Run& run);
  [[nodiscard]] Result<void> write_adapter(Run& run) const;
  [[nodiscard]] std::string keep_metrics(Run& run) const;
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
  bool must_wait_ = false;  // for the engine, before the next job
  std::thread thread_;
};

}  // namespace weft
