#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/token.h"

namespace weft::sampling {

/// A token that may be drawn.
struct Candidate {
  TokenId token = kNoToken;
  float distance = 0;  ///< (logit - best logit) / temperature; <= 0
  float weight = 0;    ///< e^distance, > 0
};

/// Candidates from the most to the least probable, ties to the lower id. Every truncating step
/// keeps a contiguous part of them.
using Candidates = std::span<const Candidate>;

/// Returns the candidates after temperature (> 0) and top_k (0 = all), sorted, without tokens whose
/// weight underflows float32. `logits` and `out` have at least V entries, `keys` 2 V. Time is
/// linear in V.
[[nodiscard]] Candidates sorted_candidates(std::span<const float> logits, float best,
                                           float temperature, std::int32_t top_k,
                                           std::span<std::uint64_t> keys, std::span<Candidate> out);

/// The sum of the candidates' weights.
[[nodiscard]] double mass_of(Candidates candidates);

/// Draws a candidate by `number` in [0, 1): the first at which the running sum of weights exceeds
/// number * mass. There is at least one candidate.
[[nodiscard]] const Candidate& draw(Candidates candidates, double number);

}  // namespace weft::sampling
