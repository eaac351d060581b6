#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/token.h"
#include "weft/sampling/sampling_params.h"

/// The steps of a choice in the plainest form: float64, everything sorted in full, the text read
/// again for each step. A token that is taken out has the logit -inf.
namespace weft::test {

using Logits = std::vector<double>;

struct ReferenceCase {
  SamplingParams params;
  std::vector<TokenId> tokens;  ///< prompt and output so far
  std::size_t prompt_tokens = 0;
  std::vector<TokenId> end_tokens;
  double mirostat_mu = 0;  ///< 0: 2 tau
};

[[nodiscard]] inline ReferenceCase case_of(SamplingParams params, std::vector<TokenId> tokens = {},
                                           std::size_t prompt_tokens = 0,
                                           std::vector<TokenId> end_tokens = {}) {
  ReferenceCase result;
  result.params = std::move(params);
  result.tokens = std::move(tokens);
  result.prompt_tokens = prompt_tokens;
  result.end_tokens = std::move(end_tokens);
  return result;
}

struct ReferenceStep {
  std::string name;
  std::function<void(Logits&)> run;
};

/// Returns all steps but beams, FSD and the draw; XTC's coin is assumed to hit. `sample` must
/// outlive them.
[[nodiscard]] std::vector<ReferenceStep> reference_steps(const ReferenceCase& sample);

[[nodiscard]] std::vector<double> softmax(const Logits& logits);

/// Returns the probability of each token after all steps, in the order given.
[[nodiscard]] std::vector<double> run_steps(Logits logits, std::span<const ReferenceStep> steps);

[[nodiscard]] inline std::vector<double> reference_probabilities(std::span<const float> logits,
                                                                 const ReferenceCase& sample) {
  return run_steps({logits.begin(), logits.end()}, reference_steps(sample));
}

/// Returns FSD's choice from logits after DRY.
[[nodiscard]] TokenId reference_fsd(const Logits& logits, const ReferenceCase& sample);

[[nodiscard]] inline std::vector<float> random_logits(std::size_t count, std::minstd_rand& random) {
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

[[nodiscard]] inline std::vector<TokenId> random_tokens(std::size_t count, std::size_t vocabulary,
                                                        std::minstd_rand& random) {
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % vocabulary);
  return tokens;
}

}  // namespace weft::test
