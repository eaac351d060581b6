#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/sample/philox.h"
#include "weft/kernels/sample/portable_exp.h"

// Plain code without fused multiplications or special instruction sets: every processor draws the
// same tokens from the same logits.

namespace weft {
namespace {

/// Weights computed at a time, which stay in the first-level cache until they are used.
constexpr std::size_t kWeighedAtOnce = 1024;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A number (as ordered bits) in the high half and an id in the low half. Of equal numbers the
/// lower id has the greater key.
using Key = std::uint64_t;

constexpr Key make_key(std::uint32_t number, std::size_t id) {
  return Key{number} << 32 | static_cast<std::uint32_t>(~id);
}
constexpr std::size_t id_of(Key key) { return static_cast<std::uint32_t>(~key); }

/// Returns bits that order as the numbers do. -0 counts as 0, as in comparisons.
constexpr std::uint32_t ordered_bits(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number + 0.0F);
  return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

/// The key of a token's weight, which is not negative.
constexpr Key weight_key(float weight, std::size_t id) {
  return make_key(std::bit_cast<std::uint32_t>(weight), id);
}
constexpr float weight_of(Key key) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32));
}

/// The greatest logit, ignoring NaN; -inf if there is none.
float max_of(std::span<const float> logits) {
  // Parallel maxima, so that the compiler vectorises the loop.
  std::array<float, 16> lanes;
  lanes.fill(-kInfinity);
  std::size_t i = 0;
  for (; i + lanes.size() <= logits.size(); i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const float logit = logits[i + lane];
      lanes[lane] = logit > lanes[lane] ? logit : lanes[lane];
    }
  }
  for (; i < logits.size(); ++i) lanes[0] = logits[i] > lanes[0] ? logits[i] : lanes[0];
  return *std::ranges::max_element(lanes);
}

/// The first of the greatest logits, ignoring NaN; kNoToken if none is above -inf.
TokenId best_of(std::span<const float> logits) {
  float best = -kInfinity;
  std::span<const float> holds_best;
  for (std::size_t begin = 0; begin < logits.size(); begin += kWeighedAtOnce) {
    const auto part = logits.subspan(begin, std::min(kWeighedAtOnce, logits.size() - begin));
    const float most = max_of(part);
    if (!(most > best)) continue;
    best = most;
    holds_best = part;
  }
  if (holds_best.empty()) return kNoToken;
  return static_cast<TokenId>(&*std::ranges::find(holds_best, best) - logits.data());
}

/// Computes the weights of logits relative to the best logit, which weighs 1. The loop has no
/// branches, so that the compiler vectorises it.
void weigh(std::span<const float> logits, float best, float temperature, float* weights) {
  const float inverse = 1.0F / temperature;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float logit = logits[i];
    // Halves, since the difference of two finite numbers may be infinite.
    const float distance = (0.5F * logit - 0.5F * best) * inverse * 2.0F;
    // The distance is NaN for a NaN logit, for inf - inf, and for 0 * inf where a tiny temperature
    // leaves only the best. At an infinite temperature a logit of -inf must not get the weight 1.
    const float weight = distance <= 0 && logit > -kInfinity ? exp_of_negative(distance) : 0.0F;
    weights[i] = logit == best ? 1.0F : weight;
  }
}

/// Returns the key of the k-th best logit (1 <= k <= V). Keeps a pool of the best keys so far and
/// cuts it back to k when it is full, so time is linear in V whatever the order of the logits.
Key kth_best(std::span<const float> logits, std::size_t k, std::span<Key> pool) {
  const std::size_t room = std::min(pool.size(), std::max<std::size_t>(4 * k, 1024));
  Key least = 0;
  std::size_t count = 0;
  const auto cut = [&] {
    const auto last = pool.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(pool.begin(), last, pool.begin() + static_cast<std::ptrdiff_t>(count),
                     std::greater<>());
    least = *last;
    count = k;
  };
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const Key key = std::isnan(logits[i]) ? make_key(0, i) : make_key(ordered_bits(logits[i]), i);
    if (key < least) continue;
    if (count == room) cut();
    if (key > least) pool[count++] = key;
  }
  cut();
  return least;
}

double mass_of(std::span<const Key> keys) {
  double mass = 0;
  for (const Key key : keys) mass += weight_of(key);
  return mass;
}

/// Returns the least key of the smallest set of best keys that has at least `mass`. Each step
/// halves the remaining keys, so time is linear. Changes the order of `keys`.
Key cut_by_mass(std::span<Key> keys, double mass) {
  while (keys.size() > 1) {
    const std::size_t half = keys.size() / 2;
    std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(half - 1), keys.end(),
                     std::greater<>());
    const double upper = mass_of(keys.first(half));
    if (upper >= mass) {
      keys = keys.first(half);
    } else {
      mass -= upper;
      keys = keys.subspan(half);
    }
  }
  return keys[0];
}

/// Returns the least key that top_p keeps among `kept`. Tokens so small that together they stay
/// below 1 - top_p of the mass need no sorting.
Key cut_by_top_p(std::span<const Key> kept, float top_p, std::span<Key> scratch) {
  const double total = mass_of(kept);
  // Half of the exact bound, because sums are rounded.
  const double negligible = (1.0 - top_p) * total / (2.0 * static_cast<double>(kept.size()));
  const auto end = std::ranges::copy_if(kept, scratch.begin(), [&](Key key) {
                     return weight_of(key) > negligible;
                   }).out;
  return cut_by_mass(std::span(scratch.begin(), end), top_p * total);
}

/// Draws one of the keys that `keeps` accepts, in the order of their ids.
template <class Keeps>
TokenId draw_from(std::span<const Key> keys, double uniform_number, const Keeps& keeps) {
  double total = 0;
  for (const Key key : keys) total += keeps(key) ? weight_of(key) : 0.0;
  const double mark = uniform_number * total;
  double passed = 0;
  std::size_t last = 0;
  for (const Key key : keys) {
    if (!keeps(key)) continue;
    last = id_of(key);
    passed += weight_of(key);
    if (passed > mark) break;
  }
  return static_cast<TokenId>(last);
}

}  // namespace

TokenId cpu::sample(std::span<const float> logits, const SampleParams& params,
                    std::span<std::uint64_t> scratch) {
  const TokenId best = best_of(logits);
  if (best == kNoToken || !(params.temperature > 0) || params.top_k == 1) return best;

  const std::span<Key> kept_keys = scratch.first(logits.size());
  const std::span<Key> spare = scratch.subspan(logits.size(), logits.size());
  const auto top_k = static_cast<std::size_t>(std::max(params.top_k, 0));
  const Key least_logit =
      top_k != 0 && top_k < logits.size() ? kth_best(logits, top_k, spare) : Key{0};
  const float greatest = logits[static_cast<std::size_t>(best)];
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kWeighedAtOnce) {
    const auto part = logits.subspan(begin, std::min(kWeighedAtOnce, logits.size() - begin));
    std::array<float, kWeighedAtOnce> weights;
    weigh(part, greatest, params.temperature, weights.data());
    for (std::size_t i = 0; i < part.size(); ++i) {
      const bool is_kept =
          weights[i] > 0 &&
          (least_logit == 0 || make_key(ordered_bits(part[i]), begin + i) >= least_logit);
      // Always written, to avoid an unpredictable branch.
      kept_keys[count] = weight_key(weights[i], begin + i);
      count += is_kept ? 1 : 0;
    }
  }
  const std::span<const Key> kept = kept_keys.first(count);

  const Key least_weight =
      params.top_p < 1 ? cut_by_top_p(kept, std::max(params.top_p, 0.0F), spare) : Key{0};
  // The best weighs 1, so min_p <= 1 always keeps it.
  const float min_p = std::min(params.min_p, 1.0F);
  return draw_from(kept, uniform(params.seed, params.draw),
                   [&](Key key) { return key >= least_weight && !(weight_of(key) < min_p); });
}

}  // namespace weft
