#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "weft/core/error/error.h"
#include "weft/gpu/training_work.h"

namespace weft {

/// The stage of a training task.
enum class TrainingPhase : std::uint8_t {
  kNew,      ///< no engine has it
  kRunning,  ///< an engine trains it when its policy lets it
  kPaused,
  kEnded,
};

/// The progress of a training task, read at one moment.
struct TrainingProgress {
  TrainingPhase phase = TrainingPhase::kNew;
  std::int64_t iterations_done = 0;
  std::int64_t iterations = 0;
  double loss = 0;           ///< the last ended iteration's; 0 before the first
  std::uint64_t pieces = 0;  ///< pieces that have run
};

/// Hears that TrainingState::wants() may have changed.
class TrainingWatcher {
 public:
  TrainingWatcher() = default;
  TrainingWatcher(const TrainingWatcher&) = delete;
  TrainingWatcher& operator=(const TrainingWatcher&) = delete;
  virtual ~TrainingWatcher() = default;

  /// Any thread; the state is not locked.
  virtual void training_changed() noexcept = 0;
};

/// The state of a training task, which its handles, the engine and an executor share. Thread-safe.
///
/// One thread at a time uses the work: the executor while a piece runs, or a thread in pause(),
/// which frees the memory of the iteration. The mutex is not held meanwhile. The task ends once,
/// when the work is done, has failed or was cancelled. It never ends while a thread uses the work.
/// After the end the caller owns the work again.
class TrainingState {
 public:
  using Done = std::function<void(const Result<void>& result)>;  ///< must not throw

  /// `work` is not null.
  explicit TrainingState(std::shared_ptr<TrainingWork> work);

  /// Begins the task. `done` is called once when it ends, by any thread, perhaps within this call.
  /// Returns false, and calls nothing, if it has begun before.
  [[nodiscard]] bool begin(Done done, std::shared_ptr<TrainingWatcher> watcher);

  /// Pauses the task until resume(). Frees the memory of the present iteration, now or after the
  /// piece that runs.
  void pause();
  void resume();
  /// Ends the task for this reason, now or after the piece that runs. Later reasons have no effect.
  void end(Error why) noexcept;

  [[nodiscard]] TrainingProgress progress() const;
  /// Whether a piece may run now.
  [[nodiscard]] bool wants() const;
  [[nodiscard]] bool has_ended() const;

  /// Runs a piece. Returns none if there is none to run, because the task is paused, has ended or
  /// fails now.
  std::optional<TrainingPiece> run_piece() noexcept;

 private:
  [[nodiscard]] bool wants_locked() const noexcept {
    return begun_ && !paused_ && !held_ && !ending_;
  }
  [[nodiscard]] Result<TrainingPiece> run_held() noexcept;
  void note(const TrainingPiece& piece) noexcept;
  void give_back(std::unique_lock<std::mutex>& lock) noexcept;
  void abandon(std::unique_lock<std::mutex>& lock) noexcept;
  void finish(std::unique_lock<std::mutex>& lock) noexcept;

  mutable std::mutex mutex_;
  std::shared_ptr<TrainingWork> work_;  // null: the task has ended
  Done done_;
  std::shared_ptr<TrainingWatcher> watcher_;
  bool begun_ = false;
  bool paused_ = false;
  bool has_memory_ = false;               // `work_` holds memory of an iteration that has begun
  bool held_ = false;                     // a thread uses the work
  std::optional<Result<void>> ending_{};  // the result with which the task ends or has ended
  TrainingProgress progress_;
};

}  // namespace weft
