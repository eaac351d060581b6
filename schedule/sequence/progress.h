#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

/// How far a sequence is, counted in its tokens: those of its prompt, then its outputs.
///
/// `known` tokens have values that the host has. The keys and values of the first `planned` tokens
/// are computed once all plans under way have run, if all guesses in them are right; those of the
/// first `surely_planned` tokens whatever is guessed. Those of the first `verified` tokens are
/// computed for sure, because a result said so.
///
/// What holds: verified <= known and verified <= surely_planned <= planned. Each operation says
/// which part of the scheduler calls it. Owner only.
class Progress {
 public:
  /// A sequence of which so many tokens are known and none is computed.
  explicit Progress(std::int32_t known = 0) noexcept : known_(known) {}

  [[nodiscard]] std::int32_t known() const noexcept { return known_; }
  [[nodiscard]] std::int32_t planned() const noexcept { return planned_; }
  [[nodiscard]] std::int32_t surely_planned() const noexcept { return planned_ - guesses_; }
  [[nodiscard]] std::int32_t verified() const noexcept { return verified_; }
  /// Of the planned tokens, the guesses that no result has told of.
  [[nodiscard]] std::int32_t guesses() const noexcept { return guesses_; }
  /// Known tokens that no plan computes yet; 0 too where a plan computes a token that is not known.
  [[nodiscard]] std::int32_t to_plan() const noexcept { return std::max(known_ - planned_, 0); }
  /// Known tokens that plans compute or have computed.
  [[nodiscard]] std::int32_t known_in_plans() const noexcept { return std::min(known_, planned_); }

  /// The sequence has a row and finds the keys and values of its first `found` tokens
  /// (RunningGroups).
  void begin(std::int32_t found) noexcept { planned_ = found; }
  /// A plan computes the next `count` tokens, the last `guesses` of which are guesses (PlanWriter).
  void plan(std::int32_t count, std::int32_t guesses = 0) noexcept {
    planned_ += count;
    guesses_ += guesses;
  }
  /// The result of a plan says that `right` of its `guesses` are right (Scheduler). It comes before
  /// those tokens are learnt.
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
  /// The sequence has the keys and values that plans compute of `other`, whose tokens it shares
  /// (PlanWriter).
  void share(const Progress& other) noexcept { planned_ = other.planned_; }
  /// A result has come, so all known tokens are computed (Scheduler). Each token that it gives is
  /// learnt afterwards, and verifies those before it.
  void verify() noexcept { verified_ = known_; }
  /// The host gets the values of so many more tokens (Sequence::add).
  void learn(std::int32_t count) noexcept { known_ += count; }
  /// Nothing is computed any more; what is known stays (RunningGroups).
  void restart() noexcept { planned_ = guesses_ = verified_ = 0; }

 private:
  std::int32_t known_ = 0;
  std::int32_t planned_ = 0;
  std::int32_t guesses_ = 0;
  std::int32_t verified_ = 0;
};

}  // namespace weft
