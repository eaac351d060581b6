#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/core/token.h"
#include "weft/sampling/sampling_params.h"

namespace weft {

struct TokenLogprob {
  TokenId token = kNoToken;
  float logprob = 0;
};

/// The most `top` entries of one outcome: what OpenAI's API allows, and twice the beams.
inline constexpr std::int32_t kMaxTopLogprobs = 32;

struct SampleOutcome {
  TokenId token = kNoToken;  ///< kNoToken: no token can be chosen, the logits are not numbers
  float logprob = 0;         ///< when asked for
  float mirostat_mu = 0;     ///< Mirostat's state after this token
  std::span<const TokenLogprob> top;  ///< most probable first; valid until the scratch's next use
};

/// What one thread needs while it samples, whatever the sequence. Made once, at start-up.
class SamplerScratch {
 public:
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
/// then, and start() begins a sequence. Nothing else allocates. Owner only; samplers of different
/// rows may run side by side, each with its own scratch.
class Sampler {
 public:
  /// V tokens; sequences of at most `max_context` tokens.
  Sampler(std::size_t vocabulary, std::size_t max_context);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  /// Begins a sequence. `params` are valid; `end_tokens` are the model's (borrowed until the next
  /// start()). The first `prompt_tokens` that are observed are the prompt, the others output.
  /// `mirostat_mu` continues a sequence that was interrupted; 0 begins.
  void start(std::shared_ptr<const SamplingParams> params, std::span<const TokenId> end_tokens,
             std::uint64_t seed, std::size_t prompt_tokens, float mirostat_mu = 0);

  /// Begins a sequence whose tokens so far are those of `other` (n > 1, beams).
  void start_as(const Sampler& other, std::uint64_t seed, float mirostat_mu = 0);

  /// The next tokens of the sequence, chosen or given. Cheap when no parameter looks back.
  void observe(std::span<const TokenId> tokens);

  /// Chooses the token after those observed; it still has to be observed. `logits` [V] are
  /// overwritten. The same seed and tokens give the same choice, on every processor and whatever
  /// was interrupted: numbers are drawn by place (Philox), and mirostat_mu is the only other state.
  [[nodiscard]] SampleOutcome sample(std::span<float> logits, SamplerScratch& scratch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
