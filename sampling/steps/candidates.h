#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/token.h"

namespace weft::sampling {

/// A token that may be drawn.
struct Candidate {
  TokenId token = kNoToken;
  float distance = 0;  ///< of its logit from the best, divided by the temperature; <= 0
  float weight = 0;    ///< e^distance, > 0
};

/// Candidates from the most to the least probable, ties to the lower id. Every step of truncation
/// keeps a stretch of them.
using Candidates = std::span<const Candidate>;

/// The candidates after temperature (> 0) and top_k (0 = all), sorted. Tokens whose weight is below
/// float32's smallest number are none. Logits are [V], `keys` and `out` at least so many: `keys`
/// twice. Time is linear in V.
[[nodiscard]] Candidates sorted_candidates(std::span<const float> logits, float best,
                                           float temperature, std::int32_t top_k,
                                           std::span<std::uint64_t> keys, std::span<Candidate> out);

/// The sum of their weights.
[[nodiscard]] double mass_of(Candidates candidates);

/// One of them, by a number in [0, 1): the first at which the sum of weights passes that part of
/// their mass. There is at least one.
[[nodiscard]] const Candidate& draw(Candidates candidates, double number);

}  // namespace weft::sampling
