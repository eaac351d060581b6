#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/config/config.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/plan.h"
#include "weft/schedule/training/recent_times.h"

namespace weft {

/// How training and requests share a device. Config explains the fields.
struct TrainingOptions {
  TrainingKind kind = TrainingKind::kDeferral;
  Duration deferral_bound{};
};

/// What a scheduler did of training.
struct TrainingStats {
  std::uint64_t iterations = 0;
  std::uint64_t pieces = 0;
  Duration took{};  ///< all pieces
  /// The longest that a group which had never begun waited already when a plan of training alone
  /// was made.
  Duration longest_wait{};
};

/// Decides when a request joins the batch and when a device trains, while there is a training task.
///
/// kDeferral is deferred continuous batching (He, Lu, Alonso: Deferred continuous batching in
/// resource-efficient large language model serving, EuroMLSys 2024): a waiting request joins the
/// batch once the time that it has waited, and the estimated time of one iteration of training, are
/// more than the bound together. Until then it stays in the queue. Whenever the batch is empty, one
/// iteration runs. What is added to the rule, since an iteration can stop between its pieces:
/// - Of an iteration that has begun, the estimate is what is left of it. So an iteration that the
///   rule has let begin is not interrupted for the request that let it begin.
/// - A request that has waited for the bound joins, however wrong the estimate was, and the
///   iteration stops between two pieces. So no request waits for training longer than the bound and
///   a piece.
/// - In a batch that is never empty a piece runs behind a step from time to time (kShare), so
///   training does not starve either.
///
/// A request that has begun once does not wait for training any more.
///
/// The estimate is the median of the last iterations. As long as no iteration of the task was
/// measured, no request waits for one.
///
/// One plan with training is under way at a time. Pure: knows no clock. Owner only. Allocates
/// nothing.
class TrainingPolicy {
 public:
  /// Beside a batch that is never empty (kDeferral, kFill), training gets a piece each time that it
  /// has had none for so many times the longest piece: requests take 1/20 longer for it at most.
  static constexpr int kShare = 20;
  /// A piece counts as so long before the first one was measured: the first one runs beside such a
  /// batch after a second.
  static constexpr Duration kUnknownPiece = std::chrono::milliseconds(50);

  explicit TrainingPolicy(const TrainingOptions& options) : options_(options) {}

  /// The task that can be trained now; 0: none, or it is paused. Another task than the last one is
  /// measured anew.
  void set_task(std::uint64_t task, TimePoint now) noexcept;
  [[nodiscard]] bool has_task() const noexcept { return task_ != 0; }

  /// Whether a request that waits since `since` and has not begun before may begin.
  [[nodiscard]] bool joins(TimePoint since, TimePoint now) const noexcept;
  /// From when on it may, as far as is known at `now`; none: not by time alone.
  [[nodiscard]] std::optional<TimePoint> joins_at(TimePoint since, TimePoint now) const noexcept;

  /// The plan that is made or amended.
  struct PlanState {
    std::uint64_t plan = 0;
    bool computes = false;        ///< something runs in it
    bool batch_is_empty = false;  ///< no group has rows
    bool is_awaited = false;      ///< a group may begin, and waits for something else
    Duration longest_wait{};      ///< of groups that have never begun
    /// What the step leaves of the time that it may take; none: it may take any.
    std::optional<Duration> left{};
  };
  /// Returns the plan's training (Plan::training_pieces). A plan with training must come to be.
  [[nodiscard]] std::int32_t choose(const PlanState& state, TimePoint now) noexcept;
  /// Whether a plan of training alone is under way that was not interrupted yet. A group may begin
  /// and cannot, so an empty plan is made that stops the training: the group may wait for that
  /// plan's end.
  [[nodiscard]] bool interrupt() noexcept;
  /// The result of a plan is in.
  void take(std::uint64_t plan, const TrainingDone& done) noexcept;
  /// The result of a plan is lost.
  void lose(std::uint64_t plan) noexcept;

  /// What an iteration takes; none before the first one was measured.
  [[nodiscard]] std::optional<Duration> iteration_time() const noexcept;
  [[nodiscard]] const TrainingStats& stats() const noexcept { return stats_; }

 private:
  // The last iterations count, so that it follows data of other lengths, and few are far out.
  static constexpr std::size_t kIterations = 9;
  static constexpr std::size_t kPieces = 16;

  [[nodiscard]] Duration left_of_iteration(TimePoint now) const noexcept;
  [[nodiscard]] std::int32_t pieces_beside(const PlanState& state, TimePoint now) const noexcept;
  [[nodiscard]] Duration piece_time() const noexcept;

  const TrainingOptions options_;
  std::uint64_t task_ = 0;
  std::uint64_t measured_task_ = 0;
  RecentTimes<kIterations> iterations_;
  RecentTimes<kPieces> pieces_;     // the longest of each of the last plans
  Duration spent_{};                // on the iteration that has begun
  std::uint64_t under_way_ = 0;     // the plan with training without a result; 0: none
  std::uint64_t task_of_plan_ = 0;  // whose training it has
  TimePoint began_{};               // when it was made
  bool is_alone_ = false;           // nothing else is in it, and no newer plan interrupts it
  TimePoint idle_since_{};          // without training
  bool was_idle_ = false;           // idle_since_ is known
  TrainingStats stats_;
};

}  // namespace weft
