#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/core/token.h"
#include "weft/sampling/choice_failure.h"
#include "weft/sampling/sampling_params.h"

namespace weft {

struct TokenLogprob {
  TokenId token = kNoToken;
  float logprob = 0;
};

/// The most `top` entries of one outcome: what OpenAI's API allows, and twice the most beams.
inline constexpr std::int32_t kMaxTopLogprobs = 32;

struct SampleOutcome {
  TokenId token = kNoToken;  ///< kNoToken: nothing can be chosen, no logit is a number above -inf
  float logprob = 0;         ///< when logprobs, top_logprobs, best_of or beams ask for it
  float mirostat_mu = 0;     ///< Mirostat's state after this token; 0 without Mirostat
  /// Most probable first, ties to the lower id, -inf left out: as many as top_logprobs says, or for
  /// a beam search beam_candidates(). Valid until the scratch's next use.
  std::span<const TokenLogprob> top{};
  /// Why nothing was chosen, where it is not the masks of the request; else null.
  std::shared_ptr<const ChoiceFailure> failure{};
};

/// What one thread needs while it samples, whatever the sequence: 33 bytes for each token of the
/// vocabulary. Made once, at start-up.
class SamplerScratch {
 public:
  /// For samplers of so many tokens, V. Takes all its memory.
  explicit SamplerScratch(std::size_t vocabulary);
  ~SamplerScratch();
  SamplerScratch(SamplerScratch&&) noexcept;
  SamplerScratch& operator=(SamplerScratch&&) noexcept;

 private:
  friend class Sampler;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Chooses the tokens of one sequence after another: it is made for a row, takes all its memory
/// then (44 to 60 bytes for each token of max_context), and start() begins a sequence. Nothing else
/// allocates, but for a constraint. Owner only; samplers of different rows may run side by side,
/// each with its own scratch.
///
/// The steps of a choice, in this order; those whose parameters are off take no time:
///  0. logit_processor (logit_processor.h); when it throws, nothing is chosen. Then constraint
///     (token_constraint.h): what it does not allow is masked
///  1. logit_bias
///  2. bad_tokens and allowed_tokens are masked
///  3. min_tokens: end tokens (not with ignore_eos) and stop_tokens are masked
///  4. repetition, then frequency and presence penalty
///  5. DRY
///  6. a beam search takes its candidates here: the most probable by the logits so far
///  7. FSD chooses here, when it is on
///  8. temperature, dynamic or not; 0 takes the best logit, ties to the lower id
///  9. top_k
/// 10. tail-free
/// 11. typical
/// 12. top_p
/// 13. min_p
/// 14. XTC
/// 15. Mirostat takes out its own
/// 16. one of those left is drawn
/// From 10 on each step takes the probabilities of what is left to sum up to 1. Ties in logits go
/// to the lower id everywhere. NaN and -inf are never chosen, and of several +inf each is as
/// probable.
class Sampler {
 public:
  /// V tokens; sequences of at most `max_context` tokens.
  Sampler(std::size_t vocabulary, std::size_t max_context);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  /// Begins a sequence. `params` are valid; `end_tokens` are the model's, in the vocabulary
  /// (borrowed until the next start()). The first `prompt_tokens` that are observed are the prompt,
  /// the others output. `mirostat_mu` continues a sequence that was interrupted; 0 begins. Takes
  /// constant time.
  void start(std::shared_ptr<const SamplingParams> params, std::span<const TokenId> end_tokens,
             std::uint64_t seed, std::size_t prompt_tokens, float mirostat_mu = 0);

  /// Begins a sequence whose tokens so far are those of `other`, and whose parameters and state as
  /// well (n > 1, beams), but for `mirostat_mu` where it is not 0. Linear in its length when a
  /// parameter looks back.
  void start_as(const Sampler& other, std::uint64_t seed, float mirostat_mu = 0);

  /// The next tokens of the sequence, chosen or given; in the vocabulary. Constant time for each,
  /// and none when no parameter looks back (penalties, DRY, FSD). A constraint is told of them by
  /// prepare() or sample().
  void observe(std::span<const TokenId> tokens);

  /// Does what of the next choice needs no logits, a constraint's mask, so that it is done while a
  /// device computes them. Takes the time that the constraint takes.
  void prepare();
  /// The same where that takes less than a microsecond for a token, as it is only looked up; false:
  /// it may take longer, and was not done.
  [[nodiscard]] bool try_prepare();

  /// Writes which tokens the constraint, which the sequence has, and min_tokens leave for the next
  /// choice, for who makes it elsewhere: [V / 32, rounded up], bit i % 32 of word i / 32 for token
  /// i.
  void write_mask(std::span<std::uint32_t> mask);

  /// Chooses the token after those observed; it still has to be observed. `logits` [V] are
  /// overwritten. The same seed and tokens give the same choice, on every processor and whatever
  /// was interrupted: numbers are drawn by position (Philox), and mirostat_mu is the only other
  /// state.
  ///
  /// Time: one to three passes over the logits with temperature, top_k, top_p and min_p; other
  /// samplers sort, in linear time. DRY and FSD look at a bounded number of positions (defaults.h),
  /// penalties at each different token of the sequence once.
  [[nodiscard]] SampleOutcome sample(std::span<float> logits, SamplerScratch& scratch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
