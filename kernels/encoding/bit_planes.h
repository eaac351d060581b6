#pragma once

#include <array>
#include <cstddef>

namespace weft {

/// The layout of Inferflow's blocks (section 3 of its paper): an f16 scale, an f16 minimum, then
/// planes of 8, 4, 2 and 1 bits that add up to the code's bits, the lowest bits first. A plane of
/// w bits of n codes has n * w / 8 bytes; byte i % (n * w / 8) has the bits of code i, the first
/// codes in the lowest bits. A weight is scale * code + minimum.
struct BitPlanes {
  static constexpr std::size_t kCodesAt = 4;
  static constexpr std::array<unsigned, 4> kWidths = {8, 4, 2, 1};
};

/// With 3.5 bits for a code, two weights share one code of 7 bits: first * 11 + second.
inline constexpr unsigned kPairBase = 11;
inline constexpr unsigned kPairBits = 7;

}  // namespace weft
