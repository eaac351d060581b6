#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/encoding/eight_cuda.cuh"

/// Decoders of blocks whose codes are points of a grid, on GPUs: weights i .. i + 7 of a block.
namespace weft::cuda::decoding {

/// A codebook in a form that device code can index.
template <std::size_t kPoint, std::size_t kCount>
struct Points {
  std::int8_t at[kCount][kPoint];
};

template <std::size_t kPoint, std::size_t kCount>
constexpr Points<kPoint, kCount> points_of(const std::array<GridPoint<kPoint>, kCount>& grid) {
  Points<kPoint, kCount> points{};
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t j = 0; j < kPoint; ++j) points.at[i][j] = grid[i][j];
  }
  return points;
}

static __device__ const auto iq1_points = points_of(kIq1Points);
static __device__ const auto iq2_xxs_points = points_of(kIq2XxsPoints);
static __device__ const auto iq2_xs_points = points_of(kIq2XsPoints);
static __device__ const auto iq2_s_points = points_of(kIq2SPoints);
static __device__ const auto iq3_xxs_points = points_of(kIq3XxsPoints);
static __device__ const auto iq3_s_points = points_of(kIq3SPoints);

/// Returns the signs of 8 weights given 7: the eighth makes the number of negative weights even.
__device__ inline unsigned signs_of(unsigned bits) {
  return (bits & 0x7fU) | (__popc(bits & 0x7fU) & 1U) << 7U;
}

__device__ inline float signed_point(std::int8_t point, unsigned negative, float scale) {
  const float value = times(scale, static_cast<float>(point));
  return negative != 0 ? -value : value;
}

__device__ inline Eight put_signed(const std::int8_t (&point)[8], unsigned signs, float scale) {
  return eight([&](int j) { return signed_point(point[j], signs >> j & 1U, scale); });
}

__device__ inline Eight put_signed(const std::int8_t (&low)[4], const std::int8_t (&high)[4],
                                   unsigned signs, float scale) {
  return eight(
      [&](int j) { return signed_point(j < 4 ? low[j] : high[j - 4], signs >> j & 1U, scale); });
}

__device__ inline Eight put_shifted(const std::int8_t (&point)[8], bool down, float scale) {
  const float shift = down ? -0.125F : 0.125F;
  return eight([&](int j) { return times(scale, plus(static_cast<float>(point[j]), shift)); });
}

__device__ inline float half_step(float scale, unsigned code, float part) {
  return times(times(scale, 0.5F + static_cast<float>(code)), part);
}

__device__ inline unsigned nibble(Bytes from, int i) { return from[i / 2] >> (i % 2 * 4) & 15U; }

__device__ inline Eight iq2_xxs(Bytes block, int i) {
  const Bytes indices = block + 2 + i / 32 * 8;
  const unsigned rest = word_at(indices + 4);
  const int k = i % 32 / 8;
  return put_signed(iq2_xxs_points.at[indices[k]], signs_of(rest >> (7 * k)),
                    half_step(half_at(block), rest >> 28U, 0.25F));
}

__device__ inline Eight iq2_xs(Bytes block, int i) {
  const unsigned code = short_at(block + 2 + i / 8 * 2);
  return put_signed(iq2_xs_points.at[code & 511U], signs_of(code >> 9U),
                    half_step(half_at(block), nibble(block + 66, i / 16), 0.25F));
}

__device__ inline Eight iq2_s(Bytes block, int i) {
  const int k = i / 8;
  const unsigned high = block[66 + k / 4] >> (k % 4 * 2) & 3U;
  return put_signed(iq2_s_points.at[block[2 + k] | high << 8U], block[34 + k],
                    half_step(half_at(block), nibble(block + 74, k / 2), 0.25F));
}

__device__ inline Eight iq3_xxs(Bytes block, int i) {
  const int group = i / 32;
  const int k = i % 32 / 8;
  const unsigned rest = word_at(block + 66 + 4 * group);
  const Bytes indices = block + 2 + 8 * group + 2 * k;
  return put_signed(iq3_xxs_points.at[indices[0]], iq3_xxs_points.at[indices[1]],
                    signs_of(rest >> (7 * k)), half_step(half_at(block), rest >> 28U, 0.5F));
}

__device__ inline Eight iq3_s(Bytes block, int i) {
  const int k = i / 8;
  const unsigned high = block[66 + k / 4] >> (k % 4 * 2);
  const unsigned own_scale = 1 + 2 * nibble(block + 106, k / 4);
  const Bytes indices = block + 2 + 2 * k;
  return put_signed(iq3_s_points.at[indices[0] | (high & 1U) << 8U],
                    iq3_s_points.at[indices[1] | (high >> 1U & 1U) << 8U], block[74 + k],
                    times(half_at(block), static_cast<float>(own_scale)));
}

__device__ inline Eight iq1_s(Bytes block, int i) {
  const unsigned rest = short_at(block + 34 + i / 32 * 2);
  const float scale = times(half_at(block), static_cast<float>(2 * (rest >> 12U & 7U) + 1));
  const unsigned high = rest >> (i % 32 / 8 * 3) & 7U;
  return put_shifted(iq1_points.at[block[2 + i / 8] | high << 8U], (rest & 0x8000U) != 0, scale);
}

__device__ inline Eight iq1_m(Bytes block, int i) {
  const auto word = [&](int n) { return short_at(block + 48 + 2 * n); };
  const unsigned bits =
      word(0) >> 12U | (word(1) >> 8U & 0xf0U) | (word(2) >> 4U & 0xf00U) | (word(3) & 0xf000U);
  const int k = i / 8;
  const unsigned high = nibble(block + 32, k);
  const unsigned own_scale = 2 * (word(k / 8) >> (k / 2 % 4 * 3) & 7U) + 1;
  return put_shifted(iq1_points.at[block[k] | (high & 7U) << 8U], (high & 8U) != 0,
                     times(half_of(bits), static_cast<float>(own_scale)));
}

template <>
struct Decoder<DType::kIQ1_S> : Decodes<iq1_s> {};
template <>
struct Decoder<DType::kIQ1_M> : Decodes<iq1_m> {};
template <>
struct Decoder<DType::kIQ2_XXS> : Decodes<iq2_xxs> {};
template <>
struct Decoder<DType::kIQ2_XS> : Decodes<iq2_xs> {};
template <>
struct Decoder<DType::kIQ2_S> : Decodes<iq2_s> {};
template <>
struct Decoder<DType::kIQ3_XXS> : Decodes<iq3_xxs> {};
template <>
struct Decoder<DType::kIQ3_S> : Decodes<iq3_s> {};

}  // namespace weft::cuda::decoding
