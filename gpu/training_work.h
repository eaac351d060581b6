#pragma once

#include <cstdint>

#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"

namespace weft {

/// What a piece of training came to.
struct TrainingPiece {
  bool ends_iteration = false;
  bool ends_work = false;  ///< nothing is left to do; the iteration has ended as well
  /// The loss of the iteration that has ended.
  double loss = 0;
  /// The work's own time; zero: as long as run_piece() took.
  Duration took{};
};

/// Training in pieces, which an executor carries out in the time that inference leaves. An
/// *iteration* is a step of the optimizer with all before it. A *piece* is a part of an iteration
/// that runs in one go: a layer forwards or backwards, or the optimizer.
///
/// One thread at a time, but not always the same one. Whoever runs it may stop for any time between
/// two pieces.
class TrainingWork {
 public:
  TrainingWork() = default;
  TrainingWork(const TrainingWork&) = delete;
  TrainingWork& operator=(const TrainingWork&) = delete;
  virtual ~TrainingWork() = default;

  /// How many iterations there are in all, and how many have ended.
  [[nodiscard]] virtual std::int64_t iterations() const = 0;
  [[nodiscard]] virtual std::int64_t iterations_done() const = 0;

  /// Carries out the next piece. Called only while iterations are left. An error or an exception
  /// ends the training.
  [[nodiscard]] virtual Result<TrainingPiece> run_piece() = 0;

  /// Gives back the memory that only the present iteration needs. The next piece computes again
  /// what was dropped, so the results are the same.
  virtual void abandon() = 0;
};

}  // namespace weft
