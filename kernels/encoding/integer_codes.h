#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "weft/core/dtype.h"

namespace weft {

/// How a block of an encoding of integers lies. A weight is scale * (code - zero). The block has a
/// scale for each group (f16; f32 where codes have 8 bits, of which it is as small a part), then a
/// byte for the zeros, of two groups the low and the high half, then the codes in runs of 32
/// inputs:
///
///   8 bits  a byte each
///   4 bits  16 bytes: byte i has inputs i and, in its high half, i + 16
///   2 bits  8 bytes: byte i has inputs i, i + 8, i + 16 and i + 24, the first in the lowest bits
///   3 bits  the two lower bits as above, then 4 bytes with the third: bit i is that of input i
///
/// Two groups share a block where a byte for each zero would take more than 3 % of the block.
struct IntegerCodes {
  static constexpr std::int64_t kRun = 32;  ///< inputs that lie together

  DType dtype = DType::kI4_128;
  int bits = 4;
  std::int64_t group = 128;  ///< inputs under one scale
  std::int64_t groups = 1;   ///< in a block

  [[nodiscard]] constexpr std::int64_t elements() const noexcept { return group * groups; }
  [[nodiscard]] constexpr std::int64_t scale_bytes() const noexcept { return bits == 8 ? 4 : 2; }
  [[nodiscard]] constexpr std::int64_t zeros_at() const noexcept { return groups * scale_bytes(); }
  [[nodiscard]] constexpr std::int64_t codes_at() const noexcept { return zeros_at() + 1; }
  [[nodiscard]] constexpr std::int64_t run_bytes() const noexcept { return kRun / 8 * bits; }
  [[nodiscard]] constexpr std::int64_t bytes() const noexcept {
    return codes_at() + elements() / kRun * run_bytes();
  }
  /// The zero of codes that stand for -2^(bits-1) and up.
  [[nodiscard]] constexpr int middle() const noexcept { return 1 << (bits - 1); }
};

/// All of them, in the order of DType.
inline constexpr std::array kIntegerCodes = {
    IntegerCodes{DType::kI2_32, 2, 32, 2}, IntegerCodes{DType::kI2_64, 2, 64, 2},
    IntegerCodes{DType::kI2_128, 2, 128},  IntegerCodes{DType::kI2_256, 2, 256},
    IntegerCodes{DType::kI3_32, 3, 32, 2}, IntegerCodes{DType::kI3_64, 3, 64},
    IntegerCodes{DType::kI3_128, 3, 128},  IntegerCodes{DType::kI3_256, 3, 256},
    IntegerCodes{DType::kI4_32, 4, 32},    IntegerCodes{DType::kI4_64, 4, 64},
    IntegerCodes{DType::kI4_128, 4, 128},  IntegerCodes{DType::kI4_256, 4, 256},
    IntegerCodes{DType::kI8_32, 8, 32},    IntegerCodes{DType::kI8_64, 8, 64},
    IntegerCodes{DType::kI8_128, 8, 128},  IntegerCodes{DType::kI8_256, 8, 256},
};

/// The row of a type; null where it is no encoding of integers.
[[nodiscard]] constexpr const IntegerCodes* integer_codes_of(DType dtype) noexcept {
  const auto* found = std::ranges::find(kIntegerCodes, dtype, &IntegerCodes::dtype);
  return found == kIntegerCodes.end() ? nullptr : found;
}

}  // namespace weft
