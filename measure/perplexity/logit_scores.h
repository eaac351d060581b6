#pragma once

#include <cstddef>
#include <span>

namespace weft::measure {

/// Returns -ln of the probability that the logits [V] give to token `index`, which is one of them;
/// NaN where the logits have no softmax: one is NaN or +inf, or all are -inf.
[[nodiscard]] double negative_log_likelihood(std::span<const float> logits, std::size_t index);

/// Returns the Kullback-Leibler divergence in nats of the softmax of `logits` from that of
/// `reference`, sum p ln(p / q) with p the reference's; both are [V]. Infinite where the reference
/// gives a probability to a token that `logits` exclude; NaN where one of them has no softmax.
[[nodiscard]] double divergence(std::span<const float> reference, std::span<const float> logits);

/// Returns the index of the largest logit, the first of equals.
[[nodiscard]] std::size_t top_token(std::span<const float> logits);

}  // namespace weft::measure
