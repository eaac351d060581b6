#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/train/tuning_job.h"

namespace weft {

/// A copy of a job's state, which can be written while the job goes on.
struct StateToSave {
  std::int64_t step = 0;
  std::function<Result<void>(const std::filesystem::path& path)> save{};
};

/// Passes steps and states from the thread that trains a job to the runner's thread. The training
/// thread never waits for the runner. Of states that the runner has not taken only the newest is
/// kept. All steps are kept: a job has at most kMostJobSteps. Thread-safe.
class JobProgress {
 public:
  /// A state is wanted every `every` steps.
  explicit JobProgress(std::int64_t every) noexcept : every_(every) {}

  // Called by the thread that trains.
  [[nodiscard]] bool wants_state(std::int64_t steps_done) const noexcept {
    return steps_done % every_ == 0;
  }
  /// The training begins now.
  void begin();
  void note(const StepReport& step, std::optional<StateToSave> state);
  /// The training has ended; any thread.
  void end(Result<void> result);

  /// News since the last wait; at least one field is set.
  struct News {
    std::vector<StepReport> steps{};
    std::vector<double> seconds{};  ///< of each step, from the end of the step before
    std::optional<StateToSave> state{};
    std::optional<Result<void>> end{};
  };
  /// Waits for news.
  [[nodiscard]] News wait();

 private:
  const std::int64_t every_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  News news_;
  std::chrono::steady_clock::time_point last_end_{};  ///< of a step, or when the training began
};

}  // namespace weft
