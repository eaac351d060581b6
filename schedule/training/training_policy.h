#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/config/config.h"
#include "weft/core/time/clock.h"
#include "weft/gpu/plan.h"
#include "weft/schedule/training/recent_pieces.h"
#include "weft/schedule/training/recent_times.h"

namespace weft {

/// How training and requests share a device. Config explains the fields.
struct TrainingOptions {
  TrainingKind kind = TrainingKind::kDeferral;
  Duration deferral_bound{};
};

/// Counts of the training that a scheduler planned.
struct TrainingStats {
  std::uint64_t iterations = 0;
  std::uint64_t pieces = 0;
  Duration took{};  ///< all pieces
  /// The longest time that a group, which had never begun, had waited when a plan of training alone
  /// was made.
  Duration longest_wait{};
};

/// Decides when a request joins the batch and when a device trains, while there is a training task.
///
/// kDeferral is deferred continuous batching (He, Lu, Alonso: Deferred continuous batching in
/// resource-efficient large language model serving, EuroMLSys 2024): a waiting request joins the
/// batch once the time that it has waited plus the estimated time of one iteration exceed the
/// bound. Until then it stays in the queue. Whenever the batch is empty, one iteration runs. Since
/// an iteration can stop between its pieces, this policy adds to the rule:
/// - For an iteration that has begun, the estimate is the time that is left. So a request that has
///   let an iteration begin does not interrupt it.
/// - A request that has waited for the bound joins, however wrong the estimate was, and the
///   iteration stops between two pieces. So no request waits for training longer than the bound and
///   a piece.
/// - If the batch is never empty, a piece runs after a step from time to time (kShare), so training
///   does not starve.
///
/// A request that has begun once, and was preempted, does not wait for training.
///
/// The estimate is the median of the last iterations. As long as no iteration of the task was
/// measured, no request waits for one.
///
/// kFill runs the pieces that fit into the time which a step leaves of its target. It takes a piece
/// to be as long as the longest of the last RecentPieces::kSteps steps, so that one step in so many
/// is longer than planned. If a piece is too long to fit, as when its thread lost the processor,
/// only the share's pieces run until that many steps have passed. Then the mean of the last pieces
/// counts, and the next piece that is measured.
///
/// One plan with training is under way at a time. Pure: knows no clock. Owner only. Allocates
/// nothing.
class TrainingPolicy {
 public:
  /// Beside a batch that is never empty (kDeferral, kFill), training gets a piece when none has run
  /// for this many times a piece's estimated time. So training slows requests by 1/20 at most.
  static constexpr int kShare = 20;
  /// The assumed time of a piece before the first one was measured. So beside such a batch the
  /// first piece runs after a second.
  static constexpr Duration kUnknownPiece = std::chrono::milliseconds(50);

  explicit TrainingPolicy(const TrainingOptions& options) : options_(options) {}

  /// Sets the task that can be trained now; 0: there is none, or it is paused. The times of a new
  /// task are measured anew.
  void set_task(std::uint64_t task, TimePoint now) noexcept;
  [[nodiscard]] bool has_task() const noexcept { return task_ != 0; }

  /// Whether a request that waits since `since` and has not begun before may begin.
  [[nodiscard]] bool joins(TimePoint since, TimePoint now) const noexcept;
  /// Returns the time from which this request may begin, as far as is known at `now`; none: time
  /// alone does not let it begin.
  [[nodiscard]] std::optional<TimePoint> joins_at(TimePoint since, TimePoint now) const noexcept;

  /// The state of the plan that is made or amended.
  struct PlanState {
    std::uint64_t plan = 0;
    bool computes = false;        ///< the plan has entries
    bool batch_is_empty = false;  ///< no group has rows
    bool is_awaited = false;      ///< a group may begin, and waits for something else
    Duration longest_wait{};      ///< the longest wait of the groups that have never begun
    /// The time that the step leaves of its target; none: there is no target.
    std::optional<Duration> left{};
  };
  /// Returns the plan's training (Plan::training_pieces). A plan with training must be made.
  [[nodiscard]] std::int32_t choose(const PlanState& state, TimePoint now) noexcept;
  /// Returns whether an empty plan must be made to stop a plan of training alone. Called if a group
  /// may begin but cannot, because it may wait for the end of the plan under way. True once for
  /// each such plan.
  [[nodiscard]] bool interrupt() noexcept;
  /// Takes the result of a plan.
  void take(std::uint64_t plan, const TrainingDone& done) noexcept;
  /// Notes that the result of a plan is lost.
  void lose(std::uint64_t plan) noexcept;

  /// Returns the estimated time of an iteration; none before the first one was measured.
  [[nodiscard]] std::optional<Duration> iteration_time() const noexcept;
  [[nodiscard]] const TrainingStats& stats() const noexcept { return stats_; }

 private:
  // The estimate uses the last iterations only, so that it follows changes of the data's lengths.
  // The median ignores outliers.
  static constexpr std::size_t kIterations = 9;

  [[nodiscard]] Duration left_of_iteration(TimePoint now) const noexcept;
  void count_step(const PlanState& state) noexcept;
  [[nodiscard]] std::int32_t pieces_beside(const PlanState& state, TimePoint now) noexcept;
  [[nodiscard]] Duration share_time() noexcept;

  const TrainingOptions options_;
  std::uint64_t task_ = 0;
  std::uint64_t measured_task_ = 0;
  RecentTimes<kIterations> iterations_;
  RecentPieces pieces_;             // the longest piece of each of the last plans
  std::uint64_t steps_ = 0;         // steps of the batch that were planned
  std::uint64_t newest_ = 0;        // the newest plan that was decided on
  Duration spent_{};                // time spent on the iteration that has begun
  std::uint64_t under_way_ = 0;     // the plan with training without a result; 0: none
  std::uint64_t task_of_plan_ = 0;  // the task of that plan
  TimePoint began_{};               // when that plan was made
  bool is_alone_ = false;           // that plan has only training, and no newer plan interrupts it
  TimePoint idle_since_{};          // since when no training has run
  bool was_idle_ = false;           // idle_since_ is known
  TrainingStats stats_;
};

}  // namespace weft
