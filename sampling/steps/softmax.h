#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "weft/core/token.h"

namespace weft::sampling {

/// The logit of a token that cannot be chosen.
inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// The sums that softmax needs over all logits. Logits that are NaN or -inf are ignored; several
/// +inf are equally probable.
struct Softmax {
  float best = kMinusInfinity;
  double sum = 0;         ///< the sum of the weights e^distance; at least 1
  double entropy = 0;     ///< in nats
  std::size_t count = 0;  ///< logits above -inf

  [[nodiscard]] bool empty() const { return count == 0; }
};

/// Passes over logits [V] twice.
[[nodiscard]] Softmax softmax_of(std::span<const float> logits);

/// Returns (logit - best) * inverse, <= 0, where `inverse` is 1 / temperature; the same as in
/// weft::sample(). -inf for NaN.
[[nodiscard]] constexpr float distance_of(float logit, float best, float inverse = 1.0F) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // Halves, since the difference of two finite numbers may be infinite. Both results are computed
  // before one is selected, so that compilers vectorise loops.
  const float distance = (0.5F * logit - 0.5F * best) * inverse * 2.0F;
  const float below = distance <= 0 ? distance : -kInfinity;  // not NaN
  const float finite = logit > -kInfinity ? below : -kInfinity;
  return logit == best ? 0.0F : finite;
}

/// ln of the probability of a token with this logit.
[[nodiscard]] float logprob_of(const Softmax& softmax, float logit);

}  // namespace weft::sampling
