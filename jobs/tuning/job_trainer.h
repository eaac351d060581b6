#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "weft/actors/training/training_task.h"
#include "weft/core/error/error.h"
#include "weft/jobs/tuning/job_record.h"
#include "weft/jobs/tuning/job_work.h"

namespace weft {

/// The functions of an engine that jobs need. One thread at a time calls prepare() and train(); the
/// others are thread-safe.
class JobTrainer {
 public:
  JobTrainer() = default;
  JobTrainer(const JobTrainer&) = delete;
  JobTrainer& operator=(const JobTrainer&) = delete;
  virtual ~JobTrainer() = default;

  /// Checks a new job as far as this is possible at once, and replaces its model's name by the
  /// engine's name for the model. kBadJob.
  [[nodiscard]] virtual Result<void> check(JobRecord& job) = 0;
  /// Reads the data and loads the model; blocks. The work has at most kMostJobSteps. TrainErrc;
  /// kBadJob; errors of the files. A stop ends it half-way, with any error.
  [[nodiscard]] virtual Result<PreparedJob> prepare(const JobRecord& job,
                                                    const std::filesystem::path& data,
                                                    const std::stop_token& stop) = 0;
  /// Begins to train. `done` is called once, by any thread, and must not throw.
  using Done = std::function<void(Result<void> result)>;
  virtual void train(const TrainingTask& task, Done done) = 0;
  /// Lets requests name the adapter; blocks. Errors of Engine::async_load_adapter.
  [[nodiscard]] virtual Result<void> serve(const std::string& model, const std::string& name,
                                           const std::filesystem::path& adapter) = 0;
  /// Whether requests can name the adapter now.
  [[nodiscard]] virtual bool serves(const std::string& name) const = 0;
  /// Removes the adapter's name; blocks.
  [[nodiscard]] virtual Result<void> stop_serving(const std::string& model,
                                                  const std::string& name) = 0;
};

}  // namespace weft
