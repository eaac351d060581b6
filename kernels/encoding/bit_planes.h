#pragma once

#include <array>
#include <cstddef>

namespace weft {

/// How Inferflow's blocks (section 3 of its paper) hold codes: after an f16 scale and an f16
/// minimum stand planes of 8, 4, 2 and 1 bits, as many as the code's bits add up to, the lowest
/// bits first. A plane of w bits of n codes has n * w / 8 bytes; code i has its bits in byte i %
/// (n * w / 8), the first codes in the lowest bits. A weight is scale * code + minimum.
struct BitPlanes {
  static constexpr std::size_t kCodesAt = 4;
  static constexpr std::array<unsigned, 4> kWidths = {8, 4, 2, 1};
};

/// With 3.5 bits for a code, two weights share one code of 7 bits: first * 11 + second.
inline constexpr unsigned kPairBase = 11;
inline constexpr unsigned kPairBits = 7;

}  // namespace weft
