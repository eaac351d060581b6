#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/core/error/internal_error.h"

namespace weft {

/// Tells which plans there are and which of them are sure. Plans are numbered from 1 on, as
/// Plan::tick is, and a device carries them out in this order.
///
///     1 .. sure()    carried out as they are: nothing changes them any more
///     newest()       waits for its device or runs. It may be amended until the next plan comes to
///                    be or its result is in: no message says when the device takes it
///     making()       is being made now: the plan after the newest one, or the newest one again
///                    while it is amended
///
/// There is one in a Scheduler, which sets it. The scheduler's parts refer to it and ask when they
/// want to know, so none of them counts plans by itself. A part that waits for a plan notes its
/// number, and looks from time to time whether that is sure or over.
///
/// Owner only. Misuse is an internal_error.
class PlanClock {
 public:
  /// The plan that is being made or amended. Between plans it is the last one that was, even if it
  /// came to nothing.
  [[nodiscard]] std::uint64_t making() const noexcept { return making_; }
  /// The last plan that came to be; 0 before the first one.
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  /// The last plan that nothing changes any more, whatever comes; 0 where there is none.
  [[nodiscard]] std::uint64_t sure() const noexcept {
    return std::max(newest_ > 0 ? newest_ - 1 : 0, run_);
  }
  /// The last plan that is sure if the one in the making comes to be.
  [[nodiscard]] std::uint64_t preceding() const noexcept { return std::max(making_ - 1, sure()); }
  /// How many plans have run or are lost. Losses may be told before the results of earlier plans:
  /// so plan n is over for sure once so many are.
  [[nodiscard]] std::uint64_t over() const noexcept { return over_; }
  /// How often a plan was written, each amendment counted as well. What is noted down for the next
  /// plan, such as copies of pages, is in the newest plan once this number has grown.
  [[nodiscard]] std::uint64_t writings() const noexcept { return writings_; }
  /// The first plan since the last loss: plans that are made now need the results of none before.
  [[nodiscard]] std::uint64_t needs_from() const noexcept { return needs_from_; }

  /// The plan after the newest one is in the making. It may come to nothing; then the next one has
  /// its number.
  void begin_plan() noexcept { making_ = newest_ + 1; }
  /// The newest plan is being amended.
  void begin_amending(std::uint64_t plan) {
    if (plan != newest_) internal_error("a plan is amended that is not the newest");
    making_ = newest_;
    needs_from_ = std::min(needs_from_, newest_);
  }
  /// The plan in the making comes to be, or has been amended.
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
  /// The result of a plan is lost. Returns whether that is news: where the plan was made before a
  /// loss that is known it is not.
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
