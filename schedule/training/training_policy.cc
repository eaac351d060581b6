#include "weft/schedule/training/training_policy.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft {

void TrainingPolicy::set_task(std::uint64_t task, TimePoint now) noexcept {
  if (task == task_) return;
  task_ = task;
  if (task == 0) return;
  was_idle_ = true;
  idle_since_ = now;
  spent_ = {};  // a task that was paused computes its micro-batch again
  if (std::exchange(measured_task_, task) == task) return;
  iterations_.clear();
  pieces_.clear();
}

std::optional<Duration> TrainingPolicy::iteration_time() const noexcept {
  if (iterations_.empty()) return {};
  return iterations_.median();
}

/// Returns what the iteration that runs next still takes, by the estimate.
Duration TrainingPolicy::left_of_iteration(TimePoint now) const noexcept {
  Duration done = spent_;
  if (under_way_ != 0) done += std::max(now - began_, Duration{});
  return std::max(iterations_.median() - done, Duration{});
}

bool TrainingPolicy::joins(TimePoint since, TimePoint now) const noexcept {
  if (task_ == 0) return true;
  if (options_.kind == TrainingKind::kFinishFirst) return false;
  if (options_.kind != TrainingKind::kDeferral || iterations_.empty()) return true;
  const Duration waited = std::max(now - since, Duration{});
  return waited > options_.deferral_bound - left_of_iteration(now);
}

std::optional<TimePoint> TrainingPolicy::joins_at(TimePoint since, TimePoint now) const noexcept {
  if (joins(since, now)) return now;
  if (options_.kind != TrainingKind::kDeferral) return {};
  // What is left of an iteration under way shrinks as fast as the request waits.
  const Duration left = under_way_ != 0 ? Duration{} : left_of_iteration(now);
  return since + options_.deferral_bound - left + Duration{1};
}

/// Counts a step of the batch once, also if its plan is amended.
void TrainingPolicy::count_step(const PlanState& state) noexcept {
  if (state.computes && std::exchange(newest_, state.plan) != state.plan) ++steps_;
}

std::int32_t TrainingPolicy::choose(const PlanState& state, TimePoint now) noexcept {
  count_step(state);
  if (under_way_ == state.plan) under_way_ = 0;  // the plan is amended
  if (task_ == 0 || under_way_ != 0 || options_.kind == TrainingKind::kOff) return 0;
  if (!std::exchange(was_idle_, true)) idle_since_ = now;
  std::int32_t pieces = 0;
  if (state.batch_is_empty) {
    pieces = state.computes || state.is_awaited ? 0 : kWholeIteration;
  } else if (state.computes) {
    pieces = pieces_beside(state, now);
  }
  if (pieces == 0) return 0;
  if (state.batch_is_empty) {
    stats_.longest_wait = std::max(stats_.longest_wait, state.longest_wait);
  }
  under_way_ = state.plan;
  task_of_plan_ = task_;
  began_ = now;
  is_alone_ = state.batch_is_empty;
  return pieces;
}

bool TrainingPolicy::interrupt() noexcept {
  return under_way_ != 0 && std::exchange(is_alone_, false);
}

/// Returns how many pieces run behind the step of a batch.
std::int32_t TrainingPolicy::pieces_beside(const PlanState& state, TimePoint now) noexcept {
  const bool fills = options_.kind == TrainingKind::kFill;
  if (!fills && options_.kind != TrainingKind::kDeferral) return 0;
  if (fills && !state.left) return 1;
  if (const auto longest = pieces_.longest_at(steps_);
      fills && longest && *state.left > Duration{}) {
    const auto fit = *state.left / std::max(*longest, Duration{1});
    if (fit > 0)
      return static_cast<std::int32_t>(std::min<Duration::rep>(fit, kWholeIteration - 1));
  }
  return now - idle_since_ >= kShare * share_time() ? 1 : 0;
}

/// Returns a piece's estimated time, as kShare has it.
Duration TrainingPolicy::share_time() noexcept {
  if (pieces_.empty()) return kUnknownPiece;
  return pieces_.longest_at(steps_).value_or(pieces_.mean());
}

void TrainingPolicy::take(std::uint64_t plan, const TrainingDone& done) noexcept {
  if (plan == 0 || plan != under_way_) return;
  under_way_ = 0;
  stats_.pieces += static_cast<std::uint64_t>(done.pieces);
  stats_.iterations += done.ends_iteration ? 1 : 0;
  stats_.took += done.took;
  if (done.pieces == 0 || task_of_plan_ != measured_task_) return;
  was_idle_ = false;
  pieces_.add(done.longest, steps_);
  spent_ += done.took;
  if (done.ends_iteration) iterations_.add(std::exchange(spent_, Duration{}));
}

void TrainingPolicy::lose(std::uint64_t plan) noexcept {
  if (plan == under_way_) under_way_ = 0;
}

}  // namespace weft
