#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/core/time/clock.h"

namespace weft {

/// What a step has to do, as far as its time depends on it. Nothing is negative.
struct StepShape {
  std::int32_t decode_tokens = 0;
  std::int32_t prefill_tokens = 0;
  /// Sum over the sequences of the tokens that each attends to: how much KV cache is read.
  std::int64_t context_tokens = 0;
  std::int32_t guess_tokens = 0;  ///< behind decode tokens
};

/// How many tokens a chunk of `count` tokens attends to that comes behind `start` others: its own,
/// and those before it, of which a `window` that all layers have (DeviceLimits::window; 0: not all
/// have one) leaves what the chunk's first token sees.
[[nodiscard]] constexpr std::int64_t attended_tokens(std::int64_t window, std::int64_t start,
                                                     std::int64_t count) noexcept {
  return (window > 0 ? std::min(start, window - 1) : start) + count;
}

/// What a step takes, and what a guess adds to it, in nanoseconds.
struct GuessTimes {
  double step = 0;
  double guess = 0;
};

/// Learns from measured steps how long a step takes: a line over (1, decode tokens, prefill tokens,
/// context tokens, guesses) whose coefficients are never negative. Errors count relative to the
/// step's time, so that short steps are told as well as long ones.
///
/// It is recursive least squares with exponential forgetting (Ljung, System Identification, second
/// edition, section 11.2), with these changes:
/// - It forgets faster while errors keep to one side, which is what a change of speed looks like.
///   After a lasting change by a factor of 2, either way, predictions are within 15 % after
///   kStepsToForget steps.
/// - A step that is far out, such as one during which the thread was not running, counts as far as
///   2.5 times the usual error; where many are out, the usual error grows until they are believed.
/// - Hours of decoding alone teach nothing about prefill: trust in what was known of it fades, but
///   not the knowledge, and the trust never below a floor that keeps the sums solvable.
/// - The first steps with guesses count as measured: what they cost is not known before, so it
/// would
///   look like a disturbance.
/// - A coefficient that would be negative is held at 0, and the others make up for it.
///
/// Owner only. Allocates nothing.
class StepTimeModel {
 public:
  /// Prefill tokens in the first step that has some, whose time nobody knows: what a step computes
  /// in about the time of one token, as it reads the weights once for them all.
  static constexpr std::int32_t kStartPrefillTokens = 16;
  /// Steps with prefill until what was learnt of them is used. Until then the whole time of the
  /// newest such step is charged to its prefill tokens, which is more than they cost.
  static constexpr std::size_t kPrefillStepsToLearn = 8;
  /// Some until errors lean to one side enough, tens until what was is outweighed in all
  /// directions, and the rest until the noise of what is new evens out.
  static constexpr int kStepsToForget = 150;
  /// Steps with guesses until what was learnt of them is used.
  static constexpr std::size_t kGuessStepsToLearn = 3;

  /// A step of this shape took this long. Of what took no time, or less, nothing is learnt but that
  /// as much prefill again may follow: a clock that has not moved tells no more. Costs some hundred
  /// operations.
  void learn(const StepShape& shape, Duration took);

  /// Zero until something is learnt.
  [[nodiscard]] Duration predict(const StepShape& shape) const;

  /// Returns how many nanoseconds a step without guesses takes, and how many a guess adds to it. As
  /// long as few steps had guesses, one is taken to cost as much as a decode token with its share
  /// of all else. Later it costs at most twice that: more is a disturbance. Zeros until something
  /// is learnt.
  [[nodiscard]] GuessTimes guess_times(const StepShape& without_guesses) const;

  /// How many prefill tokens, `most` at most, can join a step so that it is predicted to take no
  /// longer than `target`; each also adds one token of context, what the sequence holds already is
  /// part of the given shape. 0 where the step takes that long without them.
  ///
  /// Before the first step with prefill it is min(most, kStartPrefillTokens), whatever the target.
  /// Later it is at most twice what was measured in one step so far, or the start: a line that was
  /// drawn through small chunks says little about large ones.
  [[nodiscard]] std::int32_t prefill_tokens_within(Duration target,
                                                   const StepShape& without_prefill,
                                                   std::int32_t most) const;

 private:
  static constexpr std::size_t kFeatures = 5;
  using Vector = std::array<double, kFeatures>;
  using Matrix = std::array<Vector, kFeatures>;

  static Vector features_of(const StepShape& shape);
  [[nodiscard]] double nanoseconds(const StepShape& shape) const;
  [[nodiscard]] double believed(double error);
  [[nodiscard]] double keep_after(double error);
  void fit(const Vector& features, double error);
  void hold_at_zero_what_is_negative();

  Vector coefficients_{};   // nanoseconds for one of a scaled feature
  Matrix information_{};    // how well combinations of coefficients are known, in scaled features
  double unit_ = 0;         // the first step's time: what makes times numbers about 1
  double usual_error_ = 0;  // relative: about three of four errors are smaller
  double lean_ = 0;         // -1 .. 1: to which side the last errors were
  std::size_t observations_ = 0;
  std::size_t prefill_observations_ = 0;
  std::size_t guess_observations_ = 0;
  std::int32_t most_prefill_ = 0;  // in one step so far
  double newest_each_ = 0;         // nanoseconds of the newest step with prefill, by its tokens
};

}  // namespace weft
