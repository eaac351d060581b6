#include "weft/sampling/steps/top_tokens.h"

#include <algorithm>
#include <limits>

namespace weft::sampling {

std::span<TokenLogprob> top_tokens(std::span<const float> logits, std::span<TokenLogprob> out) {
  if (out.empty()) return out;
  std::size_t count = 0;
  float least = -std::numeric_limits<float>::infinity();  // only greater logits get in
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > least)) continue;
    if (count < out.size()) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && out[at - 1].logprob < logits[i]; --at) out[at] = out[at - 1];
    out[at] = {static_cast<TokenId>(i), logits[i]};
    if (count == out.size()) least = out.back().logprob;
  }
  return out.first(count);
}

}  // namespace weft::sampling
