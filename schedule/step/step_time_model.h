#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/core/time/clock.h"

namespace weft {

/// The amounts of work that determine a step's time; none is negative.
struct StepShape {
  std::int32_t decode_tokens = 0;
  std::int32_t prefill_tokens = 0;
  /// The sum over sequences of the tokens that each attends to: how much KV cache is read.
  std::int64_t context_tokens = 0;
  std::int32_t guess_tokens = 0;  ///< behind decode tokens
};

/// How many tokens a chunk of `count` tokens behind `start` others attends to: its own, and the
/// earlier tokens that the chunk's first token sees within a `window` of all layers
/// (DeviceLimits::window; 0: not all layers have one).
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
/// - It forgets faster while errors keep one sign, as they do after a change of speed.
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
  /// Prefill tokens in the first step with prefill, whose time is unknown: a step computes so many
  /// in about the time of one token, since it reads the weights once for all.
  static constexpr std::int32_t kStartPrefillTokens = 16;
  /// Steps with prefill until their coefficient is used. Until then the whole time of the newest
  /// such step is charged to its prefill tokens, which overestimates them.
  static constexpr std::size_t kPrefillStepsToLearn = 8;
  /// A few steps until errors lean to one side, tens until new steps outweigh old ones in all
  /// coefficients, and the rest until the noise of new steps averages out.
  static constexpr int kStepsToForget = 150;
  /// Steps with guesses until what was learnt of them is used.
  static constexpr std::size_t kGuessStepsToLearn = 3;

  /// A step of this shape took this long. A step that took no time (a clock that has
  /// not moved) only shows that as much prefill may follow. Takes some hundred
  /// operations.
  void learn(const StepShape& shape, Duration took);

  /// Predicts a step's time; zero before the first learn().
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
  /// Later it is at most twice the most prefill of any step so far (at least the start): small
  /// chunks say little about large ones.
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

  Vector coefficients_{};   // nanoseconds for a scaled feature of 1
  Matrix information_{};    // how well combinations of coefficients are known, in scaled features
  double unit_ = 0;         // the first step's time, which scales times to about 1
  double usual_error_ = 0;  // relative: about three of four errors are smaller
  double lean_ = 0;         // -1 .. 1: the mean sign of the last errors
  std::size_t observations_ = 0;
  std::size_t prefill_observations_ = 0;
  std::size_t guess_observations_ = 0;
  std::int32_t most_prefill_ = 0;  // in one step so far
  double newest_each_ = 0;         // nanoseconds of the newest step with prefill, by its tokens
};

}  // namespace weft
