#pragma once

#include <span>

#include "weft/sampling/sampler.h"

namespace weft::sampling {

/// Returns the `out.size()` greatest logits (in `logprob`) with their tokens, greatest first, ties
/// to the lower id; fewer if the others are NaN or -inf. Time is linear in V, except for logits in
/// ascending order, where it is V * out.size().
[[nodiscard]] std::span<TokenLogprob> top_tokens(std::span<const float> logits,
                                                 std::span<TokenLogprob> out);

}  // namespace weft::sampling
