#pragma once

#include <cstdint>
#include <span>

#include "weft/sampling/sampler.h"
#include "weft/sampling/sampling_params.h"

/// Choices where the logits are cut by vocabulary: of each part its greatest logits are told, and
/// what softmax needs of the others, instead of all.
namespace weft {

/// The greatest logits of a part that are told: as many as top_k usually is, and more than the most
/// top_logprobs.
inline constexpr std::int32_t kPartCandidates = 64;

/// How many numbers tell of a part: the best, the sum, and tokens with their logits.
inline constexpr std::int64_t kPartNumbers = 2 + 2 * std::int64_t{kPartCandidates};

/// What the choice of a token needs of each part of the logits.
enum class LogitNeeds : std::uint8_t {
  kCandidates,        ///< its greatest
  kCandidatesAndSum,  ///< and the sum of its weights, for logprobs
  kAll,
};

/// What choices by `params` need. Of parts are those that take the best (temperature 0) or draw
/// with a top_k of at most kPartCandidates, whatever steps come after it, with logprobs or without.
/// Everything is wanted by what draws from all tokens, by what changes logits before (processors,
/// biases, masks, min_tokens, penalties, DRY), by FSD, dynamic temperature and beams.
[[nodiscard]] LogitNeeds logit_needs(const SamplingParams& params) noexcept;

/// Writes what a part [V / ranks] whose first token is `first` tells: `numbers` are kPartNumbers.
/// The sum only where `needs` say so. Linear in the part, like top_tokens().
void tell_part(std::span<const float> part, std::int64_t first, LogitNeeds needs,
               std::span<float> numbers);

/// The same of a part whose greatest tokens are known, by their numbers in the vocabulary and with
/// logits for logprobs: at most kPartCandidates, the greatest first; and the sum.
void tell_part(std::span<const TokenLogprob> greatest, float sum, std::span<float> numbers);

/// Makes the logits [V] of what all parts told, one behind the other; tokens that were not told of
/// get -inf. A choice by them is, bit for bit, the one by all logits. Returns what is to be added
/// to each logprob that the model gave a token, since the sum of their weights lacks the others': 0
/// where `needs` have no sum. It is computed from sums of parts, which round otherwise than one sum
/// does.
[[nodiscard]] float join_parts(std::span<const float> numbers, LogitNeeds needs,
                               std::span<float> logits);

}  // namespace weft
