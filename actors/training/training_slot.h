#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "weft/actors/training/training_state.h"
#include "weft/core/error/error.h"

namespace weft {

/// The place of a pipeline for a training task. The engine puts a task in, the scheduler asks
/// whether it may run, and the executor runs its pieces. It has one task at a time. Thread-safe.
class TrainingSlot final : public TrainingWatcher,
                           public std::enable_shared_from_this<TrainingSlot> {
 public:
  /// `wake` is called when wanted() has changed, by any thread; it must not throw.
  explicit TrainingSlot(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// Begins a task; `done` gets the result of its end. A refusal also ends it: kOverloaded while
  /// there is another task, kBadRequest for a task that has begun before, kStopping after stop().
  void put(const std::shared_ptr<TrainingState>& task, const TrainingState::Done& done);
  /// Ends the task, and refuses all later tasks.
  void stop(Error why) noexcept;
  /// Ends the task, if there is one.
  void fail(Error why) const noexcept;

  /// The number of the task that may run; 0: there is none, or it is paused. Fast.
  [[nodiscard]] std::uint64_t wanted() const noexcept {
    return wanted_.load(std::memory_order_acquire);
  }
  /// The task; null: none.
  [[nodiscard]] std::shared_ptr<TrainingState> task() const;

  void training_changed() noexcept override;

 private:
  const std::function<void()> wake_;
  mutable std::mutex mutex_;  // locked before the mutex of a task
  std::shared_ptr<TrainingState> task_;
  std::uint64_t number_ = 0;
  bool stopped_ = false;
  std::atomic<std::uint64_t> wanted_{0};
};

}  // namespace weft
