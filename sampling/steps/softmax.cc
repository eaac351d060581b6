#include "weft/sampling/steps/softmax.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "weft/kernels/sample/portable_exp.h"
#include "weft/sampling/portable_math.h"

namespace weft::sampling {
namespace {

/// The number of independent sums, the same on every processor.
constexpr std::size_t kLanes = 8;
using Lanes = std::array<double, kLanes>;

/// Numbers processed at a time, which stay in the first-level cache between two loops.
constexpr std::size_t kAtOnce = 512;

void add_up(const std::array<float, kAtOnce>& numbers, Lanes& sums) {
  for (std::size_t i = 0; i < numbers.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += static_cast<double>(numbers[i + lane]);
    }
  }
}

double total(const Lanes& lanes) { return std::accumulate(lanes.begin(), lanes.end(), 0.0); }

float best_of(std::span<const float> logits) {
  std::array<float, kLanes> best;
  best.fill(kMinusInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      // With the operands in this order NaN never wins.
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
  for (std::size_t begin = 0; begin < logits.size(); begin += kAtOnce) {
    const auto part = logits.subspan(begin, std::min(kAtOnce, logits.size() - begin));
    // Zeros pad the last part, so that the sums need no remainder loop.
    std::array<float, kAtOnce> weights{};
    std::array<float, kAtOnce> weighted{};
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const float distance = distance_of(part[i], result.best);
      const float weight = exp_of_negative(distance);
      const float product = weight * distance;
      weights[i] = weight;
      weighted[i] = weight > 0 ? product : 0.0F;
      count += distance > kMinusInfinity ? 1U : 0U;
    }
    result.count += count;
    add_up(weights, sums);
    add_up(weighted, moments);
  }
  result.sum = total(sums);
  result.entropy = portable_log(result.sum) - total(moments) / result.sum;
  return result;
}

float logprob_of(const Softmax& softmax, float logit) {
  const double distance = distance_of(logit, softmax.best);
  return static_cast<float>(distance - portable_log(softmax.sum));
}

}  // namespace weft::sampling
