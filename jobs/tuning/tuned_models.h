#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "weft/core/error/error.h"
#include "weft/jobs/tuning/job_record.h"
#include "weft/jobs/tuning/job_store.h"
#include "weft/jobs/tuning/job_trainer.h"

namespace weft {

/// Lets an engine serve the models that jobs have made: from the start, and again when their base
/// was unloaded and is loaded again. A thread of its own waits for the engine meanwhile.
/// Thread-safe.
class TunedModels {
 public:
  /// Gets messages for the server's operator, on any thread; may be empty.
  using Notice = std::function<void(const std::string& what)>;

  /// The first two arguments must outlive this object.
  TunedModels(JobStore& jobs, JobTrainer& trainer, Notice notice);
  TunedModels(const TunedModels&) = delete;
  TunedModels& operator=(const TunedModels&) = delete;
  ~TunedModels();

  /// Serves the models of all jobs; blocks.
  void serve_all();
  /// The engine has loaded a base, without adapters. Its models will be served soon. Does not wait.
  void on_base_loaded(const std::string& base);
  /// A job has its model now. If the base was loaded after the engine was given the model, and
  /// before the job's record named it, the model will be served soon. Does not wait.
  void on_new_model(const JobSummary& job);
  /// Takes the model of a job away, and marks it as deleted in the record; blocks. kNoSuchJob: it
  /// is deleted already; EngineErrc::kOverloaded: it is served as before; kNotWritten.
  [[nodiscard]] Result<void> remove(const JobSummary& job);

 private:
  /// A base, and the id of its job whose model the engine may lack; an empty id: all its jobs.
  using Missing = std::pair<std::string, std::string>;

  void add(Missing missing);
  void work();
  void serve(const JobSummary& job);

  JobStore& jobs_;
  JobTrainer& trainer_;
  const Notice notice_;
  std::mutex serving_;  // held while a model begins or ends to be served; locked before mutex_
  std::mutex mutex_;    // guards the rest
  std::condition_variable changed_;
  std::set<Missing> missing_;  // at most one for each base and each job
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace weft
