#pragma once

#include <span>

#include "weft/sampling/sampler.h"

namespace weft::sampling {

/// The `out.size()` greatest logits with their tokens, greatest first, ties to the lower id; NaN
/// and -inf are left out, so there may be fewer. The logits stand in `logprob`. Time is linear in V
/// but for logits that rise all the way, where it is V * out.size().
[[nodiscard]] std::span<TokenLogprob> top_tokens(std::span<const float> logits,
                                                 std::span<TokenLogprob> out);

}  // namespace weft::sampling
