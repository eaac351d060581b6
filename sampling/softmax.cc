#include "weft/sampling/softmax.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "weft/kernels/portable_exp.h"
#include "weft/sampling/portable_math.h"

namespace weft::sampling {
namespace {

/// Sums that do not wait for each other, always the same ones whatever the processor.
constexpr std::size_t kLanes = 8;
using Lanes = std::array<double, kLanes>;

double total(const Lanes& lanes) { return std::accumulate(lanes.begin(), lanes.end(), 0.0); }

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

float best_of(std::span<const float> logits) {
  std::array<float, kLanes> best;
  best.fill(kMinusInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      // In this order NaN is never the greater.
      best[lane] = logits[i + lane] > best[lane] ? logits[i + lane] : best[lane];
    }
  }
  for (; i < logits.size(); ++i) best[0] = logits[i] > best[0] ? logits[i] : best[0];
  return *std::ranges::max_element(best);
}

}  // namespace

Softmax softmax_of(std::span<const float> logits) {
  Softmax result;
  result.best = best_of(logits);
  if (result.best == kMinusInfinity) return result;
  Lanes sums{};
  Lanes moments{};
  std::array<std::uint32_t, kLanes> counts{};
  const auto add = [&](std::size_t i, std::size_t lane) {
    const float distance = distance_of(logits[i], result.best);
    const float weight = exp_of_negative(distance);
    sums[lane] += static_cast<double>(weight);
    moments[lane] += weight > 0 ? static_cast<double>(weight * distance) : 0.0;
    counts[lane] += distance > kMinusInfinity ? 1U : 0U;
  };
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < logits.size(); ++i) add(i, 0);
  result.sum = total(sums);
  result.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  result.entropy = portable_log(result.sum) - total(moments) / result.sum;
  return result;
}

float logprob_of(const Softmax& softmax, float logit) {
  const double distance = distance_of(logit, softmax.best);
  return static_cast<float>(distance - portable_log(softmax.sum));
}

}  // namespace weft::sampling
