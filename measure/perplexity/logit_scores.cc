#include "weft/measure/perplexity/logit_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::measure {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Returns the logarithm of the sum of all exponentials. The largest is factored out, so that none
/// overflows.
double log_sum_exp(std::span<const float> logits, double largest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

double largest_of(std::span<const float> logits) {
  return static_cast<double>(logits[top_token(logits)]);
}

}  // namespace

double negative_log_likelihood(std::span<const float> logits, std::size_t index) {
  const double largest = largest_of(logits);
  if (!std::isfinite(largest)) return kNoNumber;
  return log_sum_exp(logits, largest) - static_cast<double>(logits[index]);
}

double divergence(std::span<const float> reference, std::span<const float> logits) {
  const double largest = largest_of(reference);
  const double largest_other = largest_of(logits);
  if (!std::isfinite(largest) || !std::isfinite(largest_other)) return kNoNumber;
  double sum = 0;
  double weighted = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const auto logit = static_cast<double>(reference[i]);
    const double part = std::exp(logit - largest);
    sum += part;
    // A token of probability 0 adds nothing, even where the other model excludes it.
    if (part != 0) weighted += part * (logit - static_cast<double>(logits[i]));
  }
  const double difference = log_sum_exp(logits, largest_other) - (largest + std::log(sum));
  // For two equal distributions, rounding can give a little less than 0.
  const double nats = weighted / sum + difference;
  return nats < 0 ? 0 : nats;
}

std::size_t top_token(std::span<const float> logits) {
  return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace weft::measure
