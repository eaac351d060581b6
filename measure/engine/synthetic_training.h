#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "weft/core/error/error.h"
#include "weft/gpu/training_work.h"
#include "weft/measure/engine/measured_model.h"

namespace weft::measure {

/// Makes endless training of low-rank pairs of all of a model's products, on tokens that are drawn:
/// only its speed is of interest. An iteration learns from one sequence of `tokens` tokens, but at
/// most the model's context, and all iterations have equally many pieces. Loads the weights once
/// more. `threads` as in Config. kCannotTrain naming the block; errors of TrainedModel::load().
[[nodiscard]] Result<std::shared_ptr<TrainingWork>> make_synthetic_training(
    const MeasuredModel& model, std::int64_t tokens, int threads);

/// An iteration that runs with nothing beside it.
struct IterationAlone {
  std::uint64_t pieces = 0;
  double seconds = 0;
};
/// Carries out four iterations, the first to touch the memory, and returns the median of the
/// others. Errors of the work.
[[nodiscard]] Result<IterationAlone> measure_iteration(TrainingWork& work);

/// Runs a bounded number of iterations of another work.
class FirstIterations final : public TrainingWork {
 public:
  /// Ends after this many iterations of `work`.
  FirstIterations(std::shared_ptr<TrainingWork> work, std::int64_t iterations)
      : work_(std::move(work)), iterations_(iterations) {}

  [[nodiscard]] std::int64_t iterations() const override { return iterations_; }
  [[nodiscard]] std::int64_t iterations_done() const override { return done_; }
  [[nodiscard]] Result<TrainingPiece> run_piece() override;
  void abandon() override { work_->abandon(); }

 private:
  std::shared_ptr<TrainingWork> work_;
  std::int64_t iterations_;
  std::int64_t done_ = 0;
};

}  // namespace weft::measure
