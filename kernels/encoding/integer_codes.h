#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/core/encodings.h"

namespace weft {

/// The layout of a block of an integer encoding. A weight is scale * (code - zero). The block has a
/// scale for each group (f16; f32 where codes have 8 bits, since it is then as small a part of the
/// block), then a byte of zeros (two groups have its low and its high half), then the codes in
/// runs of 32 inputs:
///
///   8 bits  a byte for each input
///   4 bits  16 bytes: byte i has inputs i and, in its high half, i + 16
///   2 bits  8 bytes: byte i has inputs i, i + 8, i + 16 and i + 24, the first in the lowest bits
///   3 bits  the two lower bits as above, then 4 bytes of third bits: bit i belongs to input i
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
  /// Returns the zero of symmetric codes, whose numbers begin at -2^(bits-1).
  [[nodiscard]] constexpr int middle() const noexcept { return 1 << (bits - 1); }
};

/// All encodings of integers, in the order of DType: the rows of kEncodings that have zeros.
inline constexpr auto kIntegerCodes = [] {
  std::array<IntegerCodes, std::ranges::count_if(kEncodings, &Encoding::has_zero)> all{};
  auto* next = all.begin();
  for (const Encoding& row : kEncodings) {
    if (!row.has_zero) continue;
    const auto levels = static_cast<std::uint64_t>(row.levels);
    *next++ = {row.dtype, std::countr_zero(levels), row.group, row.scales};
  }
  return all;
}();

static_assert(std::ranges::all_of(kIntegerCodes, [](const IntegerCodes& codes) {
  const Encoding& row = encoding_row(codes.dtype);
  return codes.elements() == row.block.elements && codes.bytes() == row.block.bytes &&
         codes.codes_at() == row.words.head;
}));

/// Returns the row of a type; null if it is no integer encoding.
[[nodiscard]] constexpr const IntegerCodes* integer_codes_of(DType dtype) noexcept {
  const auto* found = std::ranges::find(kIntegerCodes, dtype, &IntegerCodes::dtype);
  return found == kIntegerCodes.end() ? nullptr : found;
}

}  // namespace weft
