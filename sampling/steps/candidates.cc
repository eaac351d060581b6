#include "weft/sampling/steps/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "weft/kernels/sample/portable_exp.h"
#include "weft/sampling/steps/softmax.h"

namespace weft::sampling {
namespace {

/// A logit's ordered bits in the high half and its id in the low half. Of equal logits the lower id
/// has the greater key.
using Key = std::uint64_t;

constexpr Key key_of(float logit, std::size_t id) {
  const auto bits = std::bit_cast<std::uint32_t>(logit + 0.0F);
  const std::uint32_t ordered = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return Key{ordered} << 32U | static_cast<std::uint32_t>(~id);
}

constexpr std::size_t id_of(Key key) { return static_cast<std::uint32_t>(~key); }

/// Recovers the logit from its key, which saves a random access.
constexpr float logit_of(Key key) {
  const auto ordered = static_cast<std::uint32_t>(key >> 32U);
  const std::uint32_t bits = (ordered & 0x80000000U) != 0 ? ordered & 0x7fffffffU : ~ordered;
  return std::bit_cast<float>(bits);
}

/// For fewer keys than this a sort by comparisons costs less than the radix sort's tables.
constexpr std::size_t kFewKeys = 512;

/// The radix sort's digits: three of 11 bits hold a logit.
constexpr unsigned kBits = 11;
constexpr std::size_t kBuckets = std::size_t{1} << kBits;
constexpr unsigned kPasses = 3;

/// Digits count from the greatest down, so the best keys have the lowest digits.
constexpr std::size_t digit_of(Key key, unsigned pass) {
  return static_cast<std::size_t>(~key >> (32U + kBits * pass)) & (kBuckets - 1);
}

/// Sorts keys, which come in the order of their ids, by their high halves. Passes are stable, so
/// equal logits stay in the order of ids. `spare` has the same size.
void sort_descending(std::span<Key> keys, std::span<Key> spare) {
  if (keys.size() < kFewKeys) {
    std::ranges::sort(keys, std::greater<>());
    return;
  }
  std::array<std::array<std::uint32_t, kBuckets>, kPasses> starts{};
  for (const Key key : keys) {
    for (unsigned pass = 0; pass < kPasses; ++pass) ++starts[pass][digit_of(key, pass)];
  }
  std::span<Key> from = keys;
  std::span<Key> to = spare.first(keys.size());
  for (unsigned pass = 0; pass < kPasses; ++pass) {
    std::uint32_t start = 0;
    for (std::uint32_t& entry : starts[pass]) start += std::exchange(entry, start);
    for (const Key key : from) to[starts[pass][digit_of(key, pass)]++] = key;
    std::swap(from, to);
  }
  std::ranges::copy(from, keys.begin());
}

/// Writes the keys of tokens whose weight is not 0, in the order of their ids.
std::size_t fill_keys(std::span<const float> logits, float best, float inverse,
                      std::span<Key> keys) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float distance = distance_of(logits[i], best, inverse);
    // Always written, to avoid an unpredictable branch.
    keys[count] = key_of(logits[i], i);
    count += distance > kMinusInfinity ? 1 : 0;
  }
  return count;
}

/// Keeps the greatest `kept` keys, and keys in the same bucket of the radix sort's last pass as the
/// least of them, in order. Returns how many keys are left.
std::size_t drop_most(std::span<Key> keys, std::size_t kept) {
  std::array<std::uint32_t, kBuckets> sizes{};
  for (const Key key : keys) ++sizes[digit_of(key, kPasses - 1)];
  std::size_t last = 0;
  for (std::size_t sum = sizes[0]; sum < kept; sum += sizes[last]) ++last;
  std::size_t count = 0;
  for (const Key key : keys) {
    keys[count] = key;
    count += digit_of(key, kPasses - 1) <= last ? 1 : 0;
  }
  return count;
}

}  // namespace

Candidates sorted_candidates(std::span<const float> logits, float best, float temperature,
                             std::int32_t top_k, std::span<std::uint64_t> keys,
                             std::span<Candidate> out) {
  const float inverse = 1.0F / temperature;
  std::size_t count = fill_keys(logits, best, inverse, keys);
  const auto kept = static_cast<std::size_t>(std::max(top_k, 0));
  if (kept != 0 && kept < count) count = drop_most(keys.first(count), kept);
  sort_descending(keys.first(count), keys.subspan(logits.size()));
  if (kept != 0) count = std::min(count, kept);
  for (std::size_t i = 0; i < count; ++i) {
    const float distance = distance_of(logit_of(keys[i]), best, inverse);
    out[i] = {static_cast<TokenId>(id_of(keys[i])), distance, exp_of_negative(distance)};
  }
  const auto weighs = [](const Candidate& candidate) { return candidate.weight > 0; };
  const auto end = std::ranges::partition_point(out.first(count), weighs);
  return out.first(static_cast<std::size_t>(end - out.begin()));
}

double mass_of(Candidates candidates) {
  double mass = 0;
  for (const Candidate& candidate : candidates) mass += static_cast<double>(candidate.weight);
  return mass;
}

const Candidate& draw(Candidates candidates, double number) {
  const double mark = number * mass_of(candidates);
  double passed = 0;
  for (const Candidate& candidate : candidates) {
    passed += static_cast<double>(candidate.weight);
    if (passed > mark) return candidate;
  }
  return candidates.back();
}

}  // namespace weft::sampling
