#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/data/examples.h"
#include "weft/train/data/job_state.h"
#include "weft/train/step/gradient_step.h"
#include "weft/train/step/optimizer.h"
#include "weft/train/step/trained_model.h"

namespace weft {

/// What a step of a job came to.
struct StepReport {
  std::int64_t step = 0;  ///< from 1
  double loss = 0;        ///< the mean over the weights, before the step
  double norm = 0;        ///< of the gradients, before they were clipped
  double rate = 0;
  std::int64_t tokens = 0;
};

/// The state of a job at one moment, with the job's full name. A copy, so it can be written while
/// the job goes on.
struct JobSnapshot {
  std::string job;
  JobState state;  ///< without the pairs' gradients

  /// As TuningJob::save().
  [[nodiscard]] Result<void> save(const std::filesystem::path& path) const {
    return write_state(path, job, state.steps_done, state.pairs, state.moments);
  }
};

/// The training of low-rank pairs on some examples: which examples a step takes, its gradients, and
/// the optimizer. A job that is saved after any step and restored goes on with the same bits. Owner
/// only.
class TuningJob {
 public:
  /// A state is restored only into a job of the same model, examples, plan, settings and first
  /// pairs, by their hashes (content_hash.h), and of the same `name`.
  TuningJob(TrainedModel model, Examples examples, const BatchPlan& plan,
            const OptimizerSettings& optimizer, const std::string& name);

  TuningJob(TuningJob&&) noexcept = default;
  TuningJob& operator=(TuningJob&&) = delete;  // memory would leave before what borrows it
  TuningJob(const TuningJob&) = delete;
  TuningJob& operator=(const TuningJob&) = delete;
  ~TuningJob() = default;

  [[nodiscard]] std::int64_t steps() const noexcept { return optimizer_.settings().steps; }
  [[nodiscard]] std::int64_t steps_done() const noexcept { return optimizer_.steps_done(); }
  [[nodiscard]] bool is_done() const noexcept { return steps_done() >= steps(); }
  [[nodiscard]] const LowRankPairs& pairs() const noexcept { return model_->pairs(); }

  /// Carries out the next piece of the current step: one segment of a micro-batch forwards or
  /// backwards (a layer, mostly), the head for up to kLossRows tokens, or the optimizer. Returns
  /// the step's report with the step's last piece, and nothing before. Between two pieces nothing
  /// runs, and the caller may stop for as long as it likes. kNotFinite naming the step: the step is
  /// forgotten, and pairs and moments are those before it. A job that is done is a bug of the
  /// caller.
  [[nodiscard]] Result<std::optional<StepReport>> run_piece();
  /// Whether the next piece is a step's first one.
  [[nodiscard]] bool is_between_steps() const noexcept { return !in_step_; }
  /// Gives the memory of activations back to the system. A micro-batch that has begun begins again
  /// with the next piece; the step gives the same bits.
  void abandon_micro_batch();
  /// The bytes of activations and their gradients that the job holds, between steps too, since the
  /// next step takes them again; 0 behind abandon_micro_batch().
  [[nodiscard]] std::size_t activation_bytes() const noexcept { return model_->floats().bytes(); }
  /// Carries out all pieces that are left of the current step. Errors of run_piece().
  [[nodiscard]] Result<StepReport> step();

  /// Writes all that restore() needs to `path`, replacing an earlier state as a whole. In the midst
  /// of a step it is the state before that step. kCannotWrite.
  [[nodiscard]] Result<void> save(const std::filesystem::path& path) const;
  /// Copies what save() writes.
  [[nodiscard]] JobSnapshot snapshot() const;
  /// Continues from a saved state; a step that has begun is forgotten. Errors of read_state(),
  /// behind which the job is as it was.
  [[nodiscard]] Result<void> restore(const std::filesystem::path& path);

 private:
  void begin_step();
  void begin_micro_batch();
  [[nodiscard]] Result<StepReport> finish_step();
  void forget_step();

  std::unique_ptr<TrainedModel> model_;  // in a place of its own, which the step refers to
  Examples examples_;
  BatchPlan plan_;
  Optimizer optimizer_;
  std::unique_ptr<GradientStep> gradients_;
  std::string name_;

  bool in_step_ = false;
  std::vector<MicroBatch> batches_;  ///< of the step
  std::size_t batch_ = 0;            ///< the one that is computed
  double weight_ = 1;                ///< of all of them
  StepReport report_;
};

}  // namespace weft
