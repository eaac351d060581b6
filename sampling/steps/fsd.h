#pragma once

#include <span>

#include "weft/sampling/sampler.h"
#include "weft/sampling/token_history.h"

namespace weft::sampling {

/// The token of greatest (1 - alpha) P(token) - alpha Q(token) among the top_k most probable, where
/// P is the model's probability and Q that of a smoothed n-gram model of the text so far (Yang et
/// al., arXiv 2305.12675, section 3); ties to the more probable. kNoToken when there is none.
///
/// Q, as the authors compute it: from the longest n-gram down, each order in which the token
/// followed gives 0.9 * times / (occurrences of the context + 1) of what remains, and leaves a
/// tenth; the last, the token's share in the text, gives all that remains.
///
/// Logits are [V]; `top` has room for params.top_k. Allocates nothing. Beside a pass over the
/// logits the time is bounded by defaults::kMaxOccurrences * (kMaxFsdNgram + kMaxFsdTopK).
[[nodiscard]] TokenId choose_by_fsd(std::span<const float> logits, const FsdParams& params,
                                    const TokenHistory& history, std::span<TokenLogprob> top);

}  // namespace weft::sampling
