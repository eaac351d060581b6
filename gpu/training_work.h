#pragma once

#include <cstdint>

#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"

namespace weft {

/// The result of a piece of training.
struct TrainingPiece {
  bool ends_iteration = false;
  bool ends_work = false;  ///< nothing is left to do; the iteration has ended as well
  /// The loss of the iteration that has ended.
  double loss = 0;
  /// The time of the piece as the work measured it; zero: the caller measures run_piece().
  Duration took{};
};

/// Training in pieces, which an executor runs in the time that inference leaves. An *iteration* is
/// a step of the optimizer with the forward and backward passes before it. A *piece* is a part of
/// an iteration that runs without a break: a layer forwards or backwards, or the optimizer.
///
/// One thread at a time calls it, but not always the same thread. Any time may pass between two
/// pieces.
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
