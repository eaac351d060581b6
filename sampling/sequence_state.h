#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/sampling/sampler.h"
#include "weft/sampling/sampling_params.h"
#include "weft/sampling/steps/candidates.h"
#include "weft/sampling/token_constraint.h"
#include "weft/sampling/token_history.h"

namespace weft::sampling {

/// A sampler's state of its sequence.
struct SequenceState {
  SequenceState(std::size_t tokens, std::size_t longest)
      : vocabulary(tokens), max_context(longest), history(tokens, longest) {}

  [[nodiscard]] std::size_t output_tokens() const {
    return observed > prompt_tokens ? observed - prompt_tokens : 0;
  }

  void tell_constraint() {
    if (!untold.empty()) constraint->advance(untold);
    untold.clear();
  }

  std::size_t vocabulary;
  std::size_t max_context;
  TokenHistory history;  ///< empty if no parameter looks back
  std::shared_ptr<const SamplingParams> params;
  std::unique_ptr<ConstraintState> constraint;  ///< the output's constraint, or null
  std::vector<TokenId> untold;                  ///< output tokens not yet passed to the constraint
  std::span<const TokenId> end_tokens;
  std::uint64_t seed = 0;
  std::size_t prompt_tokens = 0;
  std::size_t observed = 0;
  float mirostat_mu = 0;
};

/// A thread's scratch memory for a choice.
struct ChoiceScratch {
  explicit ChoiceScratch(std::size_t vocabulary);

  std::vector<std::uint64_t> keys;    ///< [2 V]
  std::vector<Candidate> candidates;  ///< [V]
  std::vector<float> model_logits;    ///< [V] the model's, before edits
  std::vector<std::uint8_t> lengths;  ///< [V] for DRY, 0 between choices
  std::vector<TokenId> touched;       ///< for DRY
  std::vector<float> allowed;         ///< the logits of allowed_tokens
  std::vector<TokenLogprob> top;      ///< [kMaxTopLogprobs]
};

}  // namespace weft::sampling
