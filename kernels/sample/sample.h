#pragma once

#include <cstdint>
#include <span>

#include "weft/core/token.h"

namespace weft {

/// How the next token is drawn from a row of logits.
struct SampleParams {
  float temperature = 0;  ///< 0 = the most probable
  float top_p =
      1;  ///< the smallest set of at least this probability (Holtzman et al., arXiv 1904.09751)
  std::int32_t top_k = 0;  ///< the k most probable; 0 = all
  float min_p = 0;         ///< those of at least this share of the best's probability
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;  ///< which number of the seed's stream: the token's position
};

/// The chosen id; ties to the lower where the best are kept. The steps are those of transformers
/// and vLLM, in their order: temperature, top_k, top_p (of the mass that top_k left), min_p. Then
/// one of the kept tokens is drawn in the order of their ids. NaN and -inf are never chosen;
/// kNoToken when there is nothing else. Of several +inf each is as probable.
///
/// Numbers come from a counter-based generator (Philox 4x32-10, Salmon et al., SC 2011) keyed by
/// seed and draw, so that the same request draws the same on every processor. `scratch` holds at
/// least 2 * V entries, which are overwritten, and is not looked at when temperature is not above
/// 0. Thread-safe; time is linear in V.
[[nodiscard]] TokenId sample(std::span<const float> logits, const SampleParams& params,
                             std::span<std::uint64_t> scratch);

}  // namespace weft
