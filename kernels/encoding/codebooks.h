#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/encoding/codebook_tables.h"

namespace weft {

/// The numbers that the codes of tables and grids mean. codebook_tables.h has a grid's points as
/// codes of 2 or 3 bits. Here each code is replaced by its number, so a decoder looks up once.

inline constexpr std::array<std::int8_t, 16> kIq4Values = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// E2M1 times two; the scales of MXFP4 are halved.
inline constexpr std::array<std::int8_t, 16> kE2M1Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                            0, -1, -2, -3, -4, -6, -8, -12};

/// bitsandbytes' NF4: quantiles of a normal distribution between -1 and 1 (Dettmers and others,
/// QLoRA, 2023, appendix E).
inline constexpr std::array<float, 16> kNf4Values = {
    -0x1p+0F,        -0x1.647362p-1F, -0x1.0cd66p-1F,  -0x1.94654p-2F,
    -0x1.23449ap-2F, -0x1.7a6a7ep-3F, -0x1.74f0e2p-4F, 0x0p+0F,
    0x1.45f5fep-4F,  0x1.4995c6p-3F,  0x1.f809bap-3F,  0x1.5a0674p-2F,
    0x1.c3497p-2F,   0x1.200f56p-1F,  0x1.722766p-1F,  0x1p+0F};

/// bitsandbytes' FP4: a sign and the numbers 0, 1/192, 2/3, 1, 1/3, 1/2, 1/6, 1/4. Its -0 is 0.
inline constexpr std::array<float, 16> kFp4Values = {
    0x0p+0F,         0x1.555556p-8F, 0x1.555556p-1F,  0x1p+0F,         0x1.555556p-2F,  0x1p-1F,
    0x1.555556p-3F,  0x1p-2F,        0x0p+0F,         -0x1.555556p-8F, -0x1.555556p-1F, -0x1p+0F,
    -0x1.555556p-2F, -0x1p-1F,       -0x1.555556p-3F, -0x1p-2F};

template <std::size_t kPoint>
using GridPoint = std::array<std::int8_t, kPoint>;

/// Returns the points of a grid, with codes replaced by `values`.
template <std::size_t kPoint, std::size_t kCount, std::size_t kValues>
constexpr std::array<GridPoint<kPoint>, kCount> expand_grid(
    const std::array<std::uint16_t, kCount>& entries,
    const std::array<std::int8_t, kValues>& values) {
  constexpr unsigned kBits = std::bit_width(kValues - 1);
  std::array<GridPoint<kPoint>, kCount> points{};
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t j = 0; j < kPoint; ++j) {
      points[i][j] = values[entries[i] >> (kBits * j) & ((1U << kBits) - 1)];
    }
  }
  return points;
}

inline constexpr std::array<std::int8_t, 3> kIq1Values = {-1, 0, 1};
inline constexpr std::array<std::int8_t, 3> kIq2Values = {8, 25, 43};
inline constexpr std::array<std::int8_t, 8> kIq3XxsValues = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::array<std::int8_t, 8> kIq3SValues = {1, 3, 5, 7, 9, 11, 13, 15};

inline constexpr auto kIq1Points = expand_grid<8>(kIq1Grid, kIq1Values);
inline constexpr auto kIq2XxsPoints = expand_grid<8>(kIq2XxsGrid, kIq2Values);
inline constexpr auto kIq2XsPoints = expand_grid<8>(kIq2XsGrid, kIq2Values);
inline constexpr auto kIq2SPoints = expand_grid<8>(kIq2SGrid, kIq2Values);
inline constexpr auto kIq3XxsPoints = expand_grid<4>(kIq3XxsGrid, kIq3XxsValues);
inline constexpr auto kIq3SPoints = expand_grid<4>(kIq3SGrid, kIq3SValues);

/// Returns the signs of 8 weights given 7: the eighth makes the number of negative weights even.
[[nodiscard]] constexpr std::uint8_t even_signs(unsigned bits) noexcept {
  const unsigned odd = static_cast<unsigned>(std::popcount(bits & 0x7fU)) & 1U;
  return static_cast<std::uint8_t>((bits & 0x7fU) | odd << 7U);
}

}  // namespace weft
