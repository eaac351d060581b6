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
  TokenId token = kNoToken;  ///< kNoToken: no token can be chosen, no logit is a number above -inf
  float logprob = 0;         ///< when logprobs, top_logprobs, best_of or beams ask for it
  float mirostat_mu = 0;     ///< Mirostat's state after this token; 0 without Mirostat
  /// The most probable tokens, best first, ties to the lower id, without -inf: top_logprobs many,
  /// or beam_candidates() for a beam search. Valid until the scratch's next use.
  std::span<const TokenLogprob> top{};
  /// The reason why no token was chosen, if it is not the request's masks; otherwise null.
  std::shared_ptr<const ChoiceFailure> failure{};
};

/// A thread's working memory for sampling any sequence: 33 bytes for each token of the vocabulary.
/// Made once, at start-up.
class SamplerScratch {
 public:
  /// For samplers of V tokens. Allocates all its memory.
  explicit SamplerScratch(std::size_t vocabulary);
  ~SamplerScratch();
  SamplerScratch(SamplerScratch&&) noexcept;
  SamplerScratch& operator=(SamplerScratch&&) noexcept;

 private:
  friend class Sampler;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Chooses the tokens of a row's sequences, one sequence after another; start() begins a sequence.
/// The constructor allocates all memory (44 to 60 bytes for each token of max_context); otherwise
/// only constraints allocate. Owner only; samplers of different rows may run concurrently, each
/// with its own scratch.
///
/// The steps of a choice, in this order; steps whose parameters are off take no time:
///  0. logit_processor (logit_processor.h); if it throws, no token is chosen. Then constraint
///     (token_constraint.h): tokens that it does not allow are masked
///  1. logit_bias
///  2. bad_tokens and allowed_tokens are masked
///  3. min_tokens: end tokens (not with ignore_eos) and stop_tokens are masked
///  4. repetition, then frequency and presence penalty
///  5. DRY
///  6. a beam search takes its candidates here: the most probable by the logits so far
///  7. FSD chooses here, when it is on
///  8. temperature, fixed or dynamic; 0 takes the best logit, ties to the lower id
///  9. top_k
/// 10. tail-free
/// 11. typical
/// 12. top_p
/// 13. min_p
/// 14. XTC
/// 15. Mirostat removes improbable tokens
/// 16. one of the remaining tokens is drawn
/// From step 10 on, each step renormalizes the probabilities of the remaining tokens to sum up to
/// 1. Ties in logits go to the lower id everywhere. NaN and -inf are never chosen; several +inf are
/// equally probable.
class Sampler {
 public:
  /// V tokens; sequences of at most `max_context` tokens.
  Sampler(std::size_t vocabulary, std::size_t max_context);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  /// Begins a sequence. `params` must be valid; `end_tokens` are the model's end tokens, in the
  /// vocabulary (borrowed until the next start()). The first `prompt_tokens` observed tokens are
  /// the prompt, later ones output. `mirostat_mu` resumes an interrupted sequence; 0 begins anew.
  /// Takes constant time.
  void start(std::shared_ptr<const SamplingParams> params, std::span<const TokenId> end_tokens,
             std::uint64_t seed, std::size_t prompt_tokens, float mirostat_mu = 0);

  /// Begins a sequence with the tokens, parameters and state of `other` (for n > 1 and beams), but
  /// with this `mirostat_mu` if it is not 0. Linear in the sequence's length if a parameter looks
  /// back at tokens.
  void start_as(const Sampler& other, std::uint64_t seed, float mirostat_mu = 0);

  /// Adds the sequence's next tokens, chosen or given; all are in the vocabulary. Takes constant
  /// time for each, and none if no parameter looks back (penalties, DRY, FSD). prepare() or
  /// sample() passes the tokens to a constraint.
  void observe(std::span<const TokenId> tokens);

  /// Makes a constraint's mask for the next choice, which needs no logits, so that it is done while
  /// a device computes them. Takes the constraint's time.
  void prepare();
  /// As prepare(), if the mask is only looked up, in less than a microsecond for a token. Returns
  /// false and does nothing if it may take longer.
  [[nodiscard]] bool try_prepare();

  /// Writes which tokens the sequence's constraint and min_tokens permit for the next choice, for a
  /// device that makes the choice: [V / 32, rounded up], bit i % 32 of word i / 32 for token i. The
  /// sequence has a constraint.
  void write_mask(std::span<std::uint32_t> mask);

  /// Chooses the token after the observed tokens; the caller still has to observe it. Overwrites
  /// `logits` [V]. `guess`, or kNoToken, is what was guessed of this token. It is looked at with
  /// GuessAcceptance::kLossyTop alone, and then chosen if step 16 could draw it. The same seed and
  /// tokens give the same choice on every processor, also after an interruption: random numbers
  /// depend on the position (Philox), and mirostat_mu is the only other state.
  ///
  /// Time: one to three passes over the logits with temperature, top_k, top_p and min_p; other
  /// samplers sort, in linear time. DRY and FSD look at a bounded number of positions (defaults.h),
  /// penalties at each different token of the sequence once.
  [[nodiscard]] SampleOutcome sample(std::span<float> logits, SamplerScratch& scratch,
                                     TokenId guess = kNoToken);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
