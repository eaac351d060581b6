#pragma once

#include <cstdint>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// How the next token is drawn from a row of logits.
struct SampleParams {
  float temperature = 0;  ///< 0 = choose the most probable token
  float top_p =
      1;  ///< keep the fewest tokens with this probability (Holtzman et al., arXiv 1904.09751)
  std::int32_t top_k = 0;  ///< keep the k most probable tokens; 0 = all
  float min_p = 0;         ///< keep tokens of at least this fraction of the best's probability
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;  ///< index in the seed's stream of numbers: the token's position
};

/// Returns the chosen id. Where only the best are kept, ties go to the lower id. The steps follow
/// transformers and vLLM, in their order: temperature, top_k, top_p (of the mass that top_k left),
/// min_p. Then one of the kept tokens is drawn, in the order of their ids. NaN and -inf are never
/// chosen; kNoToken if there are no other logits. Several +inf are equally probable.
///
/// Random numbers come from a counter-based generator (Philox 4x32-10, Salmon et al., SC 2011)
/// keyed by seed and draw, so the same request draws the same tokens on every processor. `scratch`
/// holds at least 2 * V entries, which are overwritten; it is unused if temperature is not above 0.
/// Thread-safe; time is linear in V.
[[nodiscard]] TokenId sample(std::span<const float> logits, const SampleParams& params,
                             std::span<std::uint64_t> scratch);

}  // namespace weft
