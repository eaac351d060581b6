#pragma once

#include <cstdint>
#include <span>

#include "weft/sampling/sampler.h"
#include "weft/sampling/sampling_params.h"

/// Choices where ranks divide the logits by vocabulary: a rank sends a summary instead of all
/// logits of its part, namely its greatest logits and the sum that softmax needs of the others.
namespace weft {

/// How many of a part's greatest logits a summary has: as many as a usual top_k, and more than the
/// most top_logprobs.
inline constexpr std::int32_t kPartCandidates = 64;

/// The numbers of a part's summary: the best logit, the sum, and tokens with their logits.
inline constexpr std::int64_t kPartNumbers = 2 + 2 * std::int64_t{kPartCandidates};

/// The numbers that a choice needs from each part of the logits.
enum class LogitNeeds : std::uint8_t {
  kCandidates,        ///< the part's greatest logits
  kCandidatesAndSum,  ///< also the sum of the part's weights, for logprobs
  kAll,
};

/// Returns what choices by `params` need. A summary is enough to take the best token (temperature
/// 0) or to draw with a top_k of at most kPartCandidates, with or without logprobs, whatever steps
/// follow. All logits are needed to draw from all tokens, for edits of logits (processors, biases,
/// masks, min_tokens, penalties, DRY), for FSD, for dynamic temperature and for beams.
[[nodiscard]] LogitNeeds logit_needs(const SamplingParams& params) noexcept;

/// Writes the summary of a part [V / ranks] whose first token is `first` to `numbers`
/// [kPartNumbers], with the sum only if `needs` has it. Linear in the part, like top_tokens().
void tell_part(std::span<const float> part, std::int64_t first, LogitNeeds needs,
               std::span<float> numbers);

/// Writes the summary of a part whose greatest tokens and sum are known. `greatest` has at most
/// kPartCandidates tokens of the vocabulary, the greatest first, with logits in `logprob`.
void tell_part(std::span<const TokenLogprob> greatest, float sum, std::span<float> numbers);

/// Makes logits [V] from the consecutive summaries of all parts; tokens in no summary get -inf. A
/// choice by them is, bit for bit, the choice by all logits. Returns a correction to add to each
/// logprob by the model's logits, since the tokens here lack the others' weights; 0 if `needs` has
/// no sum. The correction comes from sums of parts, which are rounded differently from a sum over
/// all tokens.
[[nodiscard]] float join_parts(std::span<const float> numbers, LogitNeeds needs,
                               std::span<float> logits);

}  // namespace weft
