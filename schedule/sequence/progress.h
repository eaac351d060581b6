#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

/// A sequence's progress, counted in its tokens: the prompt's tokens, then its outputs.
///
/// The host knows the values of the first `known` tokens. Once all plans in flight have run, the
/// keys and values of the first `planned` tokens are computed if all guesses are right, and of the
/// first `surely_planned` tokens even if they are wrong. The keys and values of the first
/// `verified` tokens are computed, because a result said so.
///
/// Invariants: verified <= known and verified <= surely_planned <= planned. Each operation names
/// the part of the scheduler that calls it. Owner only.
class Progress {
 public:
  /// A sequence with so many known tokens and none computed.
  explicit Progress(std::int32_t known = 0) noexcept : known_(known) {}

  [[nodiscard]] std::int32_t known() const noexcept { return known_; }
  [[nodiscard]] std::int32_t planned() const noexcept { return planned_; }
  [[nodiscard]] std::int32_t surely_planned() const noexcept { return planned_ - guesses_; }
  [[nodiscard]] std::int32_t verified() const noexcept { return verified_; }
  /// Planned tokens that are guesses without a result yet.
  [[nodiscard]] std::int32_t guesses() const noexcept { return guesses_; }
  /// Known tokens that no plan computes yet; also 0 if a plan computes a token not yet known.
  [[nodiscard]] std::int32_t to_plan() const noexcept { return std::max(known_ - planned_, 0); }
  /// Known tokens that plans compute or have computed.
  [[nodiscard]] std::int32_t known_in_plans() const noexcept { return std::min(known_, planned_); }

  /// The sequence gets a row, and the keys and values of its first `found` tokens are in the cache
  /// (RunningGroups).
  void begin(std::int32_t found) noexcept { planned_ = found; }
  /// A plan computes the next `count` tokens, the last `guesses` of which are guesses (PlanWriter).
  void plan(std::int32_t count, std::int32_t guesses = 0) noexcept {
    planned_ += count;
    guesses_ += guesses;
  }
  /// The result of a plan says that `right` of its `guesses` are right (Scheduler). Call it before
  /// learn() for these tokens.
  void resolve(std::int32_t guesses, std::int32_t right) noexcept {
    guesses_ -= guesses;
    planned_ -= guesses - right;
  }
  /// The newest plan, which has not run, does not compute its `count` tokens after all
  /// (PlanAmender).
  void take_back(std::int32_t count) noexcept { planned_ -= count; }
  /// The newest plan, which has not run, has no `guesses` after all (PlanAmender).
  void take_back_guesses(std::int32_t guesses) noexcept {
    planned_ -= guesses;
    guesses_ -= guesses;
  }
  /// The sequence shares the tokens of `other`, and the keys and values that plans compute for it
  /// (PlanWriter).
  void share(const Progress& other) noexcept { planned_ = other.planned_; }
  /// A result has arrived, so all known tokens are computed (Scheduler). Call learn() for the
  /// result's tokens afterwards.
  void verify() noexcept { verified_ = known_; }
  /// So many more tokens are known (Sequence::add).
  void learn(std::int32_t count) noexcept { known_ += count; }
  /// All computed keys and values are lost; known tokens stay (RunningGroups).
  void restart() noexcept { planned_ = guesses_ = verified_ = 0; }

 private:
  std::int32_t known_ = 0;
  std::int32_t planned_ = 0;
  std::int32_t guesses_ = 0;
  std::int32_t verified_ = 0;
};

}  // namespace weft
