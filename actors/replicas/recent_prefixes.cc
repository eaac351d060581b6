#include "weft/actors/replicas/recent_prefixes.h"

#include <functional>
#include <random>
#include <string>

#include "weft/schedule/group.h"

namespace weft {
namespace {

std::uint64_t drawn_seed() {
  std::random_device entropy;
  return std::uint64_t{entropy()} << 32U | entropy();
}

/// The finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every bit reaches every other.
std::uint64_t stirred(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EB;
  return value ^ (value >> 31U);
}

}  // namespace

RecentPrefixes::RecentPrefixes(std::size_t replicas) : seed_(drawn_seed()) {
  if (replicas > 1 && replicas <= kMostReplicas) places_.resize(kPlaces);
}

std::vector<std::uint64_t> RecentPrefixes::beginnings_of(const GroupSpec& spec) const {
  std::vector<std::uint64_t> all;
  if (places_.empty()) return all;
  std::uint64_t hash = seed_ ^ key_number(spec.traits.kv);
  if (spec.cache_domain) hash ^= std::hash<std::string>{}(*spec.cache_domain);
  if (!spec.encoder_input.empty()) {
    for (const TokenId token : spec.encoder_input) {
      hash = stirred(hash ^ static_cast<std::uint32_t>(token));
    }
    for (std::size_t i = 0; i < spec.encoder_input.size() / kBlock; ++i) {
      all.push_back(hash = stirred(hash));
    }
    return all;
  }
  if (!spec.may_skip_tokens()) return all;
  for (std::size_t end = kBlock; end < spec.prompt.size(); end += kBlock) {
    for (std::size_t i = end - kBlock; i < end; ++i) {
      hash = stirred(hash ^ static_cast<std::uint32_t>(spec.prompt[i]));
    }
    all.push_back(hash);
  }
  return all;
}

std::int64_t RecentPrefixes::tokens_sent(std::span<const std::uint64_t> beginnings,
                                         std::size_t replica) const noexcept {
  std::size_t blocks = 0;
  for (const std::uint64_t hash : beginnings) {
    const Place& place = places_[index_of(hash)];
    if (place.hash != hash || (place.replicas >> replica & 1U) == 0) break;
    ++blocks;
  }
  return static_cast<std::int64_t>(blocks * kBlock);
}

void RecentPrefixes::note(std::span<const std::uint64_t> beginnings, std::size_t replica) noexcept {
  for (const std::uint64_t hash : beginnings) {
    Place& place = places_[index_of(hash)];
    if (place.hash != hash) place = {hash, 0};
    place.replicas |= std::uint64_t{1} << replica;
  }
}

}  // namespace weft
