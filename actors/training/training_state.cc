#include "weft/actors/training/training_state.h"

#include <exception>
#include <new>
#include <utility>

#include "weft/actors/engine_error.h"

namespace weft {

TrainingState::TrainingState(std::shared_ptr<TrainingWork> work) : work_(std::move(work)) {
  progress_.iterations = work_->iterations();
  progress_.iterations_done = work_->iterations_done();
}

bool TrainingState::begin(Done done, std::shared_ptr<TrainingWatcher> watcher) {
  std::unique_lock lock(mutex_);
  if (begun_) return false;
  begun_ = true;
  done_ = std::move(done);
  watcher_ = std::move(watcher);
  const bool is_done = progress_.iterations_done >= progress_.iterations;
  if (is_done && !ending_) ending_.emplace();
  give_back(lock);
  return true;
}

void TrainingState::pause() {
  std::unique_lock lock(mutex_);
  paused_ = true;
  if (!held_) give_back(lock);
}

void TrainingState::resume() {
  std::unique_lock lock(mutex_);
  paused_ = false;
  if (!held_) give_back(lock);
}

void TrainingState::end(Error why) noexcept {
  std::unique_lock lock(mutex_);
  if (!ending_) ending_.emplace(std::move(why));
  if (!held_) give_back(lock);
}

TrainingProgress TrainingState::progress() const {
  const std::scoped_lock lock(mutex_);
  TrainingProgress progress = progress_;
  progress.phase = work_ == nullptr ? TrainingPhase::kEnded
                   : !begun_        ? TrainingPhase::kNew
                   : paused_        ? TrainingPhase::kPaused
                                    : TrainingPhase::kRunning;
  return progress;
}

bool TrainingState::wants() const {
  const std::scoped_lock lock(mutex_);
  return begun_ && !paused_ && !ending_;
}

bool TrainingState::has_ended() const {
  const std::scoped_lock lock(mutex_);
  return work_ == nullptr;
}

std::optional<TrainingPiece> TrainingState::run_piece() noexcept {
  std::unique_lock lock(mutex_);
  if (!wants_locked()) return {};
  held_ = has_memory_ = true;
  lock.unlock();
  Result<TrainingPiece> piece = run_held();
  lock.lock();
  held_ = false;
  std::optional<TrainingPiece> ran;
  if (piece) {
    note(*piece);
    if (piece->ends_work && !ending_) ending_.emplace();
    ran = *piece;
  } else if (!ending_) {
    ending_.emplace(std::move(piece).error());
  }
  if (paused_ || ending_) give_back(lock);
  return ran;
}

/// Runs a piece of the work that this thread has.
Result<TrainingPiece> TrainingState::run_held() noexcept {
  try {
    return work_->run_piece();
  } catch (const std::exception& failure) {
    try {
      return Error{EngineErrc::kInternal, failure.what()};
    } catch (const std::bad_alloc&) {
      return Error{EngineErrc::kInternal, {}};
    }
  } catch (...) {
    return Error{EngineErrc::kInternal, {}};
  }
}

void TrainingState::note(const TrainingPiece& piece) noexcept {
  ++progress_.pieces;
  if (!piece.ends_iteration) return;
  ++progress_.iterations_done;
  progress_.loss = piece.loss;
}

/// Does what is due once no thread has the work, and unlocks.
void TrainingState::give_back(std::unique_lock<std::mutex>& lock) noexcept {
  if (paused_ && has_memory_ && !ending_) abandon(lock);
  if (ending_ && begun_ && work_ != nullptr) return finish(lock);
  const std::shared_ptr<TrainingWatcher> watcher = watcher_;
  lock.unlock();
  if (watcher) watcher->training_changed();
}

void TrainingState::abandon(std::unique_lock<std::mutex>& lock) noexcept {
  held_ = true;
  lock.unlock();
  bool failed = false;
  try {
    work_->abandon();
  } catch (...) {
    failed = true;
  }
  lock.lock();
  held_ = has_memory_ = false;
  if (failed && !ending_) ending_.emplace(Error{EngineErrc::kInternal, {}});
}

void TrainingState::finish(std::unique_lock<std::mutex>& lock) noexcept {
  auto work = std::exchange(work_, nullptr);
  const Done done = std::move(done_);
  const auto watcher = std::exchange(watcher_, nullptr);
  const Result<void> result = std::move(*ending_);  // which still says that it has ended
  lock.unlock();
  work.reset();  // it is its owner's before the end is told
  if (watcher) watcher->training_changed();
  if (done) done(result);
}

}  // namespace weft
