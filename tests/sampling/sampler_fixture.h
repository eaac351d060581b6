#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "weft/sampling/sampler.h"
#include "weft/tests/sampling/reference_sampler.h"

namespace weft::test {

inline constexpr std::size_t kContext = 4096;

/// Makes a sampler whose sequence is that of a case.
inline Sampler sampler_of(const ReferenceCase& sample, std::size_t vocabulary,
                          std::uint64_t seed = 1) {
  Sampler sampler(vocabulary, kContext);
  sampler.start(std::make_shared<const SamplingParams>(sample.params), sample.end_tokens, seed,
                sample.prompt_tokens, static_cast<float>(sample.mirostat_mu));
  sampler.observe(sample.tokens);
  return sampler;
}

/// Makes one choice for a case, from a copy of the logits.
inline TokenId choose_once(std::vector<float> logits, const ReferenceCase& sample,
                           std::uint64_t seed = 1) {
  SamplerScratch scratch(logits.size());
  return sampler_of(sample, logits.size(), seed).sample(logits, scratch).token;
}

/// Returns the probabilities that the sampler draws from, read from its own logprobs after all
/// samplers. Vocabularies have at most kMaxTopLogprobs tokens, and temperatures are above 0.
inline std::vector<double> probabilities_of(std::vector<float> logits, ReferenceCase sample) {
  sample.params.logprobs_after_samplers = true;
  sample.params.top_logprobs = kMaxTopLogprobs;
  SamplerScratch scratch(logits.size());
  std::vector<double> result(logits.size());
  const auto outcome = sampler_of(sample, logits.size()).sample(logits, scratch);
  for (const TokenLogprob& entry : outcome.top) {
    result[static_cast<std::size_t>(entry.token)] = std::exp(double{entry.logprob});
  }
  return result;
}

}  // namespace weft::test
