#pragma once

#include <span>

#include "weft/sampling/sampler.h"
#include "weft/sampling/token_history.h"

namespace weft::sampling {

/// Returns the token with the greatest (1 - alpha) P(token) - alpha Q(token) among the top_k most
/// probable. P is the model's probability, Q the probability by a smoothed n-gram model of the text
/// (Yang et al., arXiv 2305.12675, section 3). Ties go to the more probable; kNoToken if none.
///
/// The authors compute Q from the longest n-gram down. Each order in which the token followed gives
/// 0.9 * times / (occurrences of the context + 1) of the remaining weight, and leaves a tenth of
/// it. The last order, the token's share in the text, gives all remaining weight.
///
/// Logits are [V]; `top` has room for params.top_k. Allocates nothing. Beside a pass over the
/// logits the time is bounded by defaults::kMaxOccurrences * (kMaxFsdNgram + kMaxFsdTopK).
[[nodiscard]] TokenId choose_by_fsd(std::span<const float> logits, const FsdParams& params,
                                    const TokenHistory& history, std::span<TokenLogprob> top);

}  // namespace weft::sampling
