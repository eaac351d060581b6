#include "weft/actors/training/training_slot.h"

#include <utility>

#include "weft/actors/engine_error.h"

namespace weft {

void TrainingSlot::put(const std::shared_ptr<TrainingState>& task,
                       const TrainingState::Done& done) {
  TrainingState::Done told = done;
  Error refusal;
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) {
      refusal = {EngineErrc::kStopping, {}};
    } else if (task_ != nullptr) {
      refusal = {EngineErrc::kOverloaded, "training: another task has not ended"};
    } else {
      task_ = task;
      ++number_;
    }
  }
  if (refusal.code) return done(refusal);
  if (task->begin(std::move(told), shared_from_this())) return;
  {
    const std::scoped_lock lock(mutex_);
    if (task_ == task) task_.reset();
  }
  done(Error{EngineErrc::kBadRequest, "training: the task has begun before"});
}

void TrainingSlot::stop(Error why) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  fail(std::move(why));
}

void TrainingSlot::fail(Error why) const noexcept {
  if (const auto now = task()) now->end(std::move(why));
}

std::shared_ptr<TrainingState> TrainingSlot::task() const {
  const std::scoped_lock lock(mutex_);
  return task_;
}

void TrainingSlot::training_changed() noexcept {
  std::shared_ptr<TrainingState> ended;  // destroyed without the lock
  {
    const std::scoped_lock lock(mutex_);
    if (task_ != nullptr && task_->has_ended()) ended = std::exchange(task_, nullptr);
    const bool wants = task_ != nullptr && task_->wants();
    wanted_.store(wants ? number_ : 0, std::memory_order_release);
  }
  wake_();
}

}  // namespace weft
