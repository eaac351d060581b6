#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/core/error/internal_error.h"

namespace weft {

/// Counts the plans and knows which of them are final ("sure"). Plans are numbered from 1 on, like
/// Plan::tick, and a device runs them in this order.
///
///     1 .. sure()    are final: nothing changes them any more
///     newest()       waits for its device or runs. It may be amended until the next plan is
///                    written or its result is in: no message says when the device takes it
///     making()       is being made now: the plan after the newest one, or the newest one again
///                    while it is amended
///
/// A Scheduler has one and advances it. The scheduler's parts refer to it, so none of them counts
/// plans itself. A part that waits for a plan notes its number, and checks from time to time
/// whether that plan is sure or over.
///
/// Owner only. Misuse is an internal_error.
class PlanClock {
 public:
  /// The plan that is being made or amended; between plans the last such plan, even if it was
  /// abandoned.
  [[nodiscard]] std::uint64_t making() const noexcept { return making_; }
  /// The last plan that was written; 0 before the first one.
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  /// The last final plan; 0 if there is none.
  [[nodiscard]] std::uint64_t sure() const noexcept {
    return std::max(newest_ > 0 ? newest_ - 1 : 0, run_);
  }
  /// The last plan that is final once the plan being made is written.
  [[nodiscard]] std::uint64_t preceding() const noexcept { return std::max(making_ - 1, sure()); }
  /// How many plans have run or are lost. A loss may be reported before the results of earlier
  /// plans, so plan n is surely over once n plans are.
  [[nodiscard]] std::uint64_t over() const noexcept { return over_; }
  /// How often a plan was written or amended. Commands noted for the next plan, such as copies of
  /// pages, are in the newest plan once this number has grown.
  [[nodiscard]] std::uint64_t writings() const noexcept { return writings_; }
  /// The first plan since the last loss: new plans do not depend on results of earlier plans.
  [[nodiscard]] std::uint64_t needs_from() const noexcept { return needs_from_; }

  /// Begins the plan after the newest one. If it is abandoned, the next plan gets its
  /// number.
  void begin_plan() noexcept { making_ = newest_ + 1; }
  /// Begins to amend the newest plan.
  void begin_amending(std::uint64_t plan) {
    if (plan != newest_) internal_error("a plan is amended that is not the newest");
    making_ = newest_;
    needs_from_ = std::min(needs_from_, newest_);
  }
  /// The plan being made has been written, or amended.
  void write() noexcept {
    newest_ = making_;
    ++writings_;
  }
  /// The result of a plan is in.
  void run(std::uint64_t plan) {
    if (plan > newest_) internal_error("there is a result of a plan that was never made");
    run_ = std::max(run_, plan);
    ++over_;
  }
  /// The result of a plan is lost. Returns false if the plan was made before a loss that is known
  /// already.
  [[nodiscard]] bool lose(std::uint64_t plan) noexcept {
    ++over_;
    if (plan < needs_from_) return false;
    needs_from_ = newest_ + 1;
    return true;
  }

 private:
  std::uint64_t making_ = 1;
  std::uint64_t newest_ = 0;
  std::uint64_t run_ = 0;  // the last plan whose result is in
  std::uint64_t over_ = 0;
  std::uint64_t writings_ = 0;
  std::uint64_t needs_from_ = 1;
};

}  // namespace weft
