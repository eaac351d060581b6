#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

/// How far a sequence is, counted in its tokens: those of its prompt, then its outputs.
///
/// `known` tokens have values that the host has. The keys and values of the first `planned` tokens
/// are computed once all plans under way have run. Those of the first `verified` tokens are
/// computed for sure, because a result said so.
///
/// What holds: verified <= known and verified <= planned. Each operation says which part of the
/// scheduler calls it. Owner only.
class Progress {
 public:
  /// A sequence of which so many tokens are known and none is computed.
  explicit Progress(std::int32_t known = 0) noexcept : known_(known) {}

  [[nodiscard]] std::int32_t known() const noexcept { return known_; }
  [[nodiscard]] std::int32_t planned() const noexcept { return planned_; }
  [[nodiscard]] std::int32_t verified() const noexcept { return verified_; }
  /// Known tokens that no plan computes yet; 0 too where a plan computes a token that is not known.
  [[nodiscard]] std::int32_t to_plan() const noexcept { return std::max(known_ - planned_, 0); }
  /// Known tokens that plans compute or have computed.
  [[nodiscard]] std::int32_t known_in_plans() const noexcept { return std::min(known_, planned_); }

  /// The sequence has a row and finds the keys and values of its first `found` tokens
  /// (RunningGroups).
  void begin(std::int32_t found) noexcept { planned_ = found; }
  /// A plan computes the next `count` tokens (PlanWriter).
  void plan(std::int32_t count) noexcept { planned_ += count; }
  /// The newest plan, which has not run, does not compute its `count` tokens after all
  /// (PlanAmender).
  void take_back(std::int32_t count) noexcept { planned_ -= count; }
  /// The sequence has the keys and values that plans compute of `other`, whose tokens it shares
  /// (PlanWriter).
  void share(const Progress& other) noexcept { planned_ = other.planned_; }
  /// A result has come, so all known tokens are computed (Scheduler). What the result gives is
  /// learnt afterwards.
  void verify() noexcept { verified_ = known_; }
  /// The host gets the values of so many more tokens (Sequence::add).
  void learn(std::int32_t count) noexcept { known_ += count; }
  /// Nothing is computed any more; what is known stays (RunningGroups).
  void restart() noexcept { planned_ = verified_ = 0; }

 private:
  std::int32_t known_ = 0;
  std::int32_t planned_ = 0;
  std::int32_t verified_ = 0;
};

}  // namespace weft
