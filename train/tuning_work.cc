#include "weft/train/tuning_work.h"

#include <optional>

namespace weft {

Result<TrainingPiece> TuningWork::run_piece() {
  const Result<std::optional<StepReport>> report = job_.run_piece();
  if (!report) return report.error();
  TrainingPiece piece;
  if (!*report) return piece;
  last_step_ = **report;
  piece.ends_iteration = true;
  piece.ends_work = job_.is_done();
  piece.loss = last_step_.loss;
  return piece;
}

}  // namespace weft
