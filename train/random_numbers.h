#pragma once

#include <cstdint>

namespace weft {

/// Numbers drawn from a seed, the same on every machine: SplitMix64 (Steele et al., "Fast
/// splittable pseudorandom number generators", 2014). Plain data.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31U);
  }

  /// Returns a number in [0, 1), of 24 bits.
  [[nodiscard]] float uniform() noexcept {
    return static_cast<float>(next() >> 40U) * (1.0F / (1U << 24U));
  }

  /// Returns a number in [0, limit). `limit` is far below 2^64, so no number is favoured.
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }

 private:
  std::uint64_t state_;
};

}  // namespace weft
