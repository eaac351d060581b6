#pragma once

#include <array>
#include <cstdint>

#include "weft/kernels/sample/philox.h"

namespace weft::sampling {

/// The purpose of a random number. Numbers of different purposes are independent.
enum class Purpose : std::uint32_t {
  kDraw = 0,     ///< the token itself; the stream of weft::uniform()
  kXtcCoin = 1,  ///< whether XTC takes part
  kFsdCoin = 2,  ///< whether randomized FSD or the samplers choose
};

/// A number in [0, 1) of 53 random bits for the token at `position` of its sequence.
[[nodiscard]] constexpr double random_number(Purpose purpose, std::uint64_t seed,
                                             std::uint64_t position) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); };
  const auto words = philox({low(position), high(position), static_cast<std::uint32_t>(purpose), 0},
                            {low(seed), high(seed)});
  const std::uint64_t bits = (std::uint64_t{words[1]} << 32U | words[0]) >> 11U;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace weft::sampling
