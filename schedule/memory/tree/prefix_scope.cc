#include "weft/schedule/memory/tree/prefix_scope.h"

#include <array>
#include <cstddef>
#include <functional>
#include <random>

namespace weft {
namespace {

std::uint64_t random_seed() {
  std::random_device entropy;
  return std::uint64_t{entropy()} << 32U | entropy();
}

/// Multiplies to 128 bits and folds them: every bit of both reaches every bit of the result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

}  // namespace

PrefixHash::PrefixHash() : seed_(random_seed()) {}

std::uint32_t PrefixHash::operator()(const PrefixScope& scope, PageId parent,
                                     std::span<const TokenId> tokens) const {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  std::uint64_t hash = seed_ ^ static_cast<std::uint32_t>(parent);
  if (parent == kNoPage) {
    if (scope.domain) hash ^= std::hash<std::string>{}(*scope.domain);
    hash = mix(hash ^ key_number(scope.traits), kOdd);
  }
  // Four chains beside each other, since each multiplication waits for the one before.
  const std::uint64_t key = seed_ ^ kOdd;
  std::array<std::uint64_t, 4> chains{hash, mix(hash, key ^ 1), mix(hash, key ^ 2),
                                      mix(hash, key ^ 3)};
  const auto two_at = [&](std::size_t i) {
    return static_cast<std::uint32_t>(tokens[i]) |
           std::uint64_t{static_cast<std::uint32_t>(tokens[i + 1])} << 32U;
  };
  std::size_t i = 0;
  for (; i + 8 <= tokens.size(); i += 8) {
    for (std::size_t j = 0; j < chains.size(); ++j) {
      chains[j] = mix(chains[j] ^ two_at(i + 2 * j), key);
    }
  }
  hash = mix(chains[0] ^ chains[1], key ^ mix(chains[2] ^ chains[3], key));
  for (; i < tokens.size(); ++i) hash = mix(hash ^ static_cast<std::uint32_t>(tokens[i]), key);
  return static_cast<std::uint32_t>(hash);
}

}  // namespace weft
