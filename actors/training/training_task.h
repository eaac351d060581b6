#pragma once

#include <memory>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/training/training_state.h"
#include "weft/gpu/training_work.h"

namespace weft {

/// A handle of a training task, which an engine runs while it serves (Engine::async_train). Copies
/// are handles of the same task. Thread-safe except for assignment.
///
/// The task shares the work with the caller. From async_train() until the operation completes, the
/// work belongs to the engine: nobody else may call it.
class TrainingTask {
 public:
  /// `work` is not null.
  explicit TrainingTask(std::shared_ptr<TrainingWork> work)
      : state_(std::make_shared<TrainingState>(std::move(work))) {}

  [[nodiscard]] TrainingProgress progress() const { return state_->progress(); }

  /// No piece of the task begins until resume(). The running piece ends first. Then the memory that
  /// only the present iteration needs is freed; after resume() the lost values are computed again.
  /// Requests do not wait for a paused task. A task that is paused before it begins, begins paused.
  void pause() const { state_->pause(); }
  void resume() const { state_->resume(); }
  /// Ends the task after the piece that runs; async_train completes with EngineErrc::kCancelled.
  /// The work keeps the training of ended iterations.
  void cancel() const { state_->end({EngineErrc::kCancelled, {}}); }

  /// For ports.
  [[nodiscard]] const std::shared_ptr<TrainingState>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<TrainingState> state_;
};

}  // namespace weft
