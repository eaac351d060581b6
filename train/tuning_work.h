#pragma once

#include <cstdint>
#include <utility>

#include "weft/core/error/error.h"
#include "weft/gpu/training_work.h"
#include "weft/train/tuning_job.h"

namespace weft {

/// A TuningJob as training beside serving: a step is an iteration. Its threads compute while a
/// piece runs, and only then. Whoever has no engine train it may use the job.
class TuningWork final : public TrainingWork {
 public:
  explicit TuningWork(TuningJob job) : job_(std::move(job)) {}

  [[nodiscard]] TuningJob& job() noexcept { return job_; }
  /// The report of the step that has ended last; zeros: none has.
  [[nodiscard]] const StepReport& last_step() const noexcept { return last_step_; }

  [[nodiscard]] std::int64_t iterations() const override { return job_.steps(); }
  [[nodiscard]] std::int64_t iterations_done() const override { return job_.steps_done(); }
  [[nodiscard]] Result<TrainingPiece> run_piece() override;
  void abandon() override { job_.abandon_micro_batch(); }

 private:
  TuningJob job_;
  StepReport last_step_;
};

}  // namespace weft
