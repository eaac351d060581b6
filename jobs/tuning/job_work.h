#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/training_work.h"
#include "weft/jobs/tuning/job_progress.h"

namespace weft {

/// A job's training, ready to begin. While an engine has it (Engine::async_train), nobody else may
/// call it.
class JobWork : public TrainingWork {
 public:
  /// Reports each step to `progress` from now on.
  void tell(std::shared_ptr<JobProgress> progress) { progress_ = std::move(progress); }

  /// Writes a state, in place of an earlier one. FileErrc.
  [[nodiscard]] virtual Result<void> save(const std::filesystem::path& path) = 0;
  /// Continues from a state. TrainErrc::kBadState: the state belongs to another job; FileErrc.
  [[nodiscard]] virtual Result<void> restore(const std::filesystem::path& path) = 0;
  /// Writes the adapter into an existing folder; `base` is the base's name in it. FileErrc.
  [[nodiscard]] virtual Result<void> write_adapter(const std::filesystem::path& folder,
                                                   const std::string& base) = 0;

 protected:
  /// Called after each step; `state` makes a copy of the state.
  template <class State>
  void note(const StepReport& report, const State& state) const {
    if (progress_ == nullptr) return;
    const bool wanted = progress_->wants_state(report.step);
    progress_->note(report, wanted ? std::optional<StateToSave>(state()) : std::nullopt);
  }

 private:
  std::shared_ptr<JobProgress> progress_;
};

/// The numbers that follow from a job's data.
struct JobPlan {
  std::int64_t epochs = 0;
  std::int64_t batch = 0;
  double rate_multiplier = 0;
  std::int64_t examples = 0;
  std::int64_t cut = 0;       ///< examples that were too long
  std::int64_t left_out = 0;  ///< examples with nothing to learn
  std::string learnt{};       ///< how_learnt()
};

struct PreparedJob {
  std::shared_ptr<JobWork> work{};
  JobPlan plan{};
};

}  // namespace weft
