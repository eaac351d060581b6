#pragma once

#include <cstdint>

#include "weft/kernels/encoding/bit_planes.h"
#include "weft/kernels/encoding/decode_blocks_cuda.cuh"
#include "weft/kernels/encoding/integer_codes.h"

/// Decoders of the blocks that Hugging Face's and Inferflow's weights become, on GPUs: weights
/// i .. i + 7 of a block. Blocks may begin at odd addresses.
namespace weft::cuda::decoding {

static __device__ const auto nf4_values = table_of(kNf4Values);
static __device__ const auto fp4_values = table_of(kFp4Values);

/// Code j of eight from i on of runs of 32 (integer_codes.h).
template <int kBits>
__device__ int run_code(Bytes codes, int i, int j) {
  const Bytes run = codes + i / 32 * (4 * kBits);
  if constexpr (kBits == 8) return run[i % 32 + j];
  if constexpr (kBits == 4) return nibble_of(run, i, j);
  const int two = run[j] >> (i % 32 / 8 * 2) & 3;
  if constexpr (kBits == 2) return two;
  return two | (run[8 + i % 32 / 8] >> j & 1) << 2;
}

template <int kBits>
__device__ Eight integers(Bytes block, int i, int group, int groups) {
  constexpr int kScaleBytes = kBits == 8 ? 4 : 2;
  const int own = i / group;
  const Bytes scale_at = block + own * kScaleBytes;
  const float scale = kBits == 8 ? float_at(scale_at) : odd_half_at(scale_at);
  const int zeros = block[groups * kScaleBytes];
  const int zero = groups == 1 ? zeros : zeros >> (4 * own) & 15;
  const Bytes codes = block + groups * kScaleBytes + 1;
  return eight(
      [&](int j) { return times(scale, static_cast<float>(run_code<kBits>(codes, i, j) - zero)); });
}

__device__ inline float from_e4m3(unsigned code) {
  const unsigned magnitude = code & 0x7fU;
  if (magnitude == 0x7fU) return __uint_as_float(0x7fc00000U);
  return times(__uint_as_float(magnitude << 20U | (code & 0x80U) << 24U), 0x1p120F);
}

__device__ inline Eight f8(Bytes block, int i) {
  const float scale = float_at(block);
  return eight([&](int j) { return times(from_e4m3(block[4 + i + j]), scale); });
}

__device__ inline Eight four_bit_floats(const Table<float>& table, Bytes block, int i) {
  const float scale = float_at(block);
  return eight([&](int j) { return times(table.at[run_code<4>(block + 4, i, j)], scale); });
}

/// Code `i` of a block of `count` codes of so many bits.
__device__ inline unsigned plane_code(Bytes codes, unsigned bits, int count, int i) {
  unsigned code = 0;
  unsigned below = 0;
#pragma unroll
  for (int width = 8; width > 0; width /= 2) {
    if ((bits & static_cast<unsigned>(width)) == 0) continue;
    const int bytes = count * width / 8;
    const unsigned mask = (1U << static_cast<unsigned>(width)) - 1;
    code |= (codes[i % bytes] >> (i / bytes * width) & mask) << below;
    codes += bytes;
    below += static_cast<unsigned>(width);
  }
  return code;
}

__device__ inline Eight planes(Bytes block, int i, unsigned bits, int count) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  return eight([&](int j) {
    const unsigned code = plane_code(block + BitPlanes::kCodesAt, bits, count, i + j);
    return plus(times(scale, static_cast<float>(code)), minimum);
  });
}

__device__ inline Eight pairs_of_11(Bytes block, int i) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  return eight([&](int j) {
    const unsigned pair = plane_code(block + BitPlanes::kCodesAt, kPairBits, 32, (i + j) / 2);
    const unsigned code = j % 2 == 0 ? pair / kPairBase : pair % kPairBase;
    return plus(times(scale, static_cast<float>(code)), minimum);
  });
}

}  // namespace weft::cuda::decoding
