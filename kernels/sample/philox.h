#pragma once

#include <array>
#include <cstdint>

namespace weft {

/// Philox 4x32-10: four random words from a counter and a key, without state (Salmon et al.,
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3).
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                            std::array<std::uint32_t, 2> key) {
  constexpr int kRounds = 10;
  constexpr std::array<std::uint64_t, 2> kMultipliers = {0xD2511F53, 0xCD9E8D57};
  // The golden ratio and sqrt(3) - 1, as in the paper.
  constexpr std::array<std::uint32_t, 2> kWeyl = {0x9E3779B9, 0xBB67AE85};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t left = kMultipliers[0] * counter[0];
    const std::uint64_t right = kMultipliers[1] * counter[2];
    counter = {static_cast<std::uint32_t>(right >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(right),
               static_cast<std::uint32_t>(left >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(left)};
    key = {key[0] + kWeyl[0], key[1] + kWeyl[1]};
  }
  return counter;
}

/// Returns number `draw` of the stream `seed`, in [0, 1) and of 53 random bits.
[[nodiscard]] constexpr double uniform(std::uint64_t seed, std::uint64_t draw) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  const auto words = philox({low(draw), high(draw), 0, 0}, {low(seed), high(seed)});
  const std::uint64_t bits = (std::uint64_t{words[1]} << 32 | words[0]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace weft
