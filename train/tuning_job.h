#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/train/data/batch_plan.h"
#include "weft/train/data/examples.h"
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

/// The training of low-rank pairs on some examples: which examples a step takes, its gradients, and
/// the optimizer. A job that is saved after any step and restored goes on with the same bits. Owner
/// only.
class TuningJob {
 public:
  /// `name` tells jobs apart: a state is restored only into a job of the same name.
  TuningJob(TrainedModel model, Examples examples, const BatchPlan& plan,
            const OptimizerSettings& optimizer, std::string name);

  [[nodiscard]] std::int64_t steps() const noexcept { return optimizer_.settings().steps; }
  [[nodiscard]] std::int64_t steps_done() const noexcept { return optimizer_.steps_done(); }
  [[nodiscard]] bool is_done() const noexcept { return steps_done() >= steps(); }
  [[nodiscard]] const LowRankPairs& pairs() const noexcept { return model_->pairs(); }

  /// Carries out the next step. The loss may be infinite or NaN where the rate is too high.
  StepReport step();

  /// Writes all that restore() needs to `path`, replacing an earlier state as a whole.
  /// kCannotWrite.
  [[nodiscard]] Result<void> save(const std::filesystem::path& path) const;
  /// kBadState where the file is no state, or one of a job of another name; errors of the file.
  [[nodiscard]] Result<void> restore(const std::filesystem::path& path);

 private:
  std::unique_ptr<TrainedModel> model_;  // in a place of its own, which the step refers to
  Examples examples_;
  BatchPlan plan_;
  Optimizer optimizer_;
  GradientStep gradients_;
  std::string name_;
};

}  // namespace weft
