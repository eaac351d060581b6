#include "weft/sampling/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "weft/kernels/portable_exp.h"
#include "weft/sampling/softmax.h"

namespace weft::sampling {
namespace {

/// Bits that order as the logits do in the high half, so that of equal logits the lower id has the
/// greater key.
using Key = std::uint64_t;

constexpr Key key_of(float logit, std::size_t id) {
  const auto bits = std::bit_cast<std::uint32_t>(logit + 0.0F);
  const std::uint32_t ordered = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return Key{ordered} << 32U | static_cast<std::uint32_t>(~id);
}

constexpr std::size_t id_of(Key key) { return static_cast<std::uint32_t>(~key); }

/// Below so many keys a sort by comparisons costs less than the radix sort's tables.
constexpr std::size_t kFewKeys = 512;

/// Sorts keys whose ids rise from the greatest to the least, by their high halves: three passes of
/// 11 bits, each stable, so that ids stay in order. `spare` is as large.
void sort_descending(std::span<Key> keys, std::span<Key> spare) {
  if (keys.size() < kFewKeys) {
    std::ranges::sort(keys, std::greater<>());
    return;
  }
  constexpr unsigned kBits = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  constexpr unsigned kPasses = 3;
  const auto digit = [](Key key, unsigned pass) {
    // The complement, so that the greatest comes first.
    return static_cast<std::size_t>(~key >> (32U + kBits * pass)) & (kBuckets - 1);
  };
  std::array<std::array<std::uint32_t, kBuckets>, kPasses> starts{};
  for (const Key key : keys) {
    for (unsigned pass = 0; pass < kPasses; ++pass) ++starts[pass][digit(key, pass)];
  }
  std::span<Key> from = keys;
  std::span<Key> to = spare.first(keys.size());
  for (unsigned pass = 0; pass < kPasses; ++pass) {
    std::uint32_t start = 0;
    for (std::uint32_t& entry : starts[pass]) start += std::exchange(entry, start);
    for (const Key key : from) to[starts[pass][digit(key, pass)]++] = key;
    std::swap(from, to);
  }
  std::ranges::copy(from, keys.begin());
}

/// The keys of at least `least` of tokens that weigh something, in the order of their ids.
std::size_t fill_keys(std::span<const float> logits, float best, float inverse, Key least,
                      std::span<Key> keys) {
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  std::size_t count = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const Key key = key_of(logits[i], i);
    const float distance = distance_of(logits[i], best, inverse);
    // Written in any case, so that a random choice is no branch.
    keys[count] = key;
    count += distance > kMinusInfinity && key >= least ? 1 : 0;
  }
  return count;
}

}  // namespace

Candidates sorted_candidates(std::span<const float> logits, float best, float temperature,
                             std::int32_t top_k, std::span<std::uint64_t> keys,
                             std::span<Candidate> out) {
  const float inverse = 1.0F / temperature;
  std::size_t count = fill_keys(logits, best, inverse, 0, keys);
  const auto kept = static_cast<std::size_t>(std::max(top_k, 0));
  if (kept != 0 && kept < count) {
    const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(kept - 1);
    std::nth_element(keys.begin(), middle, keys.begin() + static_cast<std::ptrdiff_t>(count),
                     std::greater<>());
    // Once more in the order of ids, which the radix sort builds on.
    count = fill_keys(logits, best, inverse, *middle, keys);
  }
  sort_descending(keys.first(count), keys.subspan(logits.size()));
  std::size_t made = 0;
  for (const Key key : keys.first(count)) {
    const std::size_t id = id_of(key);
    const float distance = distance_of(logits[id], best, inverse);
    const float weight = exp_of_negative(distance);
    if (!(weight > 0)) break;
    out[made++] = {static_cast<TokenId>(id), distance, weight};
  }
  return out.first(made);
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
