#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

/// What became of a sequence's guesses: the part of them that was right, of which newer ones count
/// more, and when it is tried again. Owner only.
class GuessRecord {
 public:
  /// What a result keeps of its weight when a new one comes: a memory of five results.
  static constexpr double kKeep = 0.8;
  /// Guesses that what was expected beforehand counts as.
  static constexpr double kExpectedCounts = 2;
  /// Tokens between two tries at most. With as few as two guesses each, these cost a sequence at
  /// most one computed token in 16.
  static constexpr std::int32_t kLongestRest = 32;

  /// The device made so many guesses behind the token at `known - 1`, of which the first `right`
  /// were right. Guesses behind a wrong one tell nothing.
  void learn(std::int32_t made, std::int32_t right, std::int32_t known) noexcept {
    if (made <= 0) return;
    told_ = kKeep * told_ + std::min(made, right + 1);
    right_ = kKeep * right_ + right;
    rest_ = right > 0 ? 0 : std::clamp(2 * rest_, 1, kLongestRest);
    again_at_ = known + rest_;
  }
  /// Returns the probability that a guess is right if those before it are, where `expected` is that
  /// of a sequence of which nothing is known.
  [[nodiscard]] double chance(double expected) const noexcept {
    return (right_ + kExpectedCounts * expected) / (told_ + kExpectedCounts);
  }
  /// Whether a try with so many known tokens would come too soon after wrong ones.
  [[nodiscard]] bool rests(std::int32_t known) const noexcept { return known < again_at_; }

 private:
  double told_ = 0;   // guesses that were right, or wrong behind right ones
  double right_ = 0;  // of these
  std::int32_t rest_ = 0;
  std::int32_t again_at_ = 0;
};

}  // namespace weft
