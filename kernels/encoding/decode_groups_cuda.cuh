#pragma once

#include <cstdint>

#include "weft/kernels/encoding/bit_planes.h"
#include "weft/kernels/encoding/decode_blocks_cuda.cuh"
#include "weft/kernels/encoding/integer_codes.h"

/// Decoders, on GPUs, of the blocks that weights of Hugging Face's quantizers and of Inferflow are
/// converted to: weights i .. i + 7 of a block. Blocks may begin at odd addresses.
namespace weft::cuda::decoding {

static __device__ const auto nf4_values = table_of(kNf4Values);
static __device__ const auto fp4_values = table_of(kFp4Values);

/// Returns code i + j of codes in runs of 32 (integer_codes.h).
template <int kBits>
__device__ int run_code(Bytes codes, int i, int j) {
  const Bytes run = codes + i / 32 * (4 * kBits);
  if constexpr (kBits == 8) return run[i % 32 + j];
  if constexpr (kBits == 4) return nibble_of(run, i, j);
  const int two = run[j] >> (i % 32 / 8 * 2) & 3;
  if constexpr (kBits == 2) return two;
  return two | (run[8 + i % 32 / 8] >> j & 1) << 2;
}

template <DType kType>
__device__ Eight integers(Bytes block, int i) {
  constexpr IntegerCodes kCodes = *integer_codes_of(kType);
  const int own = kCodes.groups == 1 ? 0 : i / static_cast<int>(kCodes.group);
  const Bytes scale_at = block + own * kCodes.scale_bytes();
  const float scale = kCodes.bits == 8 ? float_at(scale_at) : odd_half_at(scale_at);
  const int zeros = block[kCodes.zeros_at()];
  const int zero = kCodes.groups == 1 ? zeros : zeros >> (4 * own) & 15;
  const Bytes codes = block + kCodes.codes_at();
  return eight([&](int j) {
    return times(scale, static_cast<float>(run_code<kCodes.bits>(codes, i, j) - zero));
  });
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

__device__ inline Eight nf4(Bytes block, int i) { return four_bit_floats(nf4_values, block, i); }
__device__ inline Eight fp4(Bytes block, int i) { return four_bit_floats(fp4_values, block, i); }

/// Returns code `i` of a block of `count` codes of `bits` bits, held in planes (bit_planes.h).
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

template <unsigned kBits, int kCount>
__device__ Eight planes(Bytes block, int i) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  return eight([&](int j) {
    const unsigned code = plane_code(block + BitPlanes::kCodesAt, kBits, kCount, i + j);
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

template <DType kType>
  requires(encoding_row(kType).has_zero)
struct Decoder<kType> : Decodes<integers<kType>> {};
template <DType kType>
  requires(encoding_row(kType).codes == CodeType::kFloat)
struct Decoder<kType> : Decodes<f8> {};
template <>
struct Decoder<DType::kNF4_64> : Decodes<nf4> {};
template <>
struct Decoder<DType::kFP4_64> : Decodes<fp4> {};
template <>
struct Decoder<DType::kQ2_B32> : Decodes<planes<2, 32>> {};
template <>
struct Decoder<DType::kQ3_B32> : Decodes<planes<3, 32>> {};
template <>
struct Decoder<DType::kQ4_B32> : Decodes<planes<4, 32>> {};
template <>
struct Decoder<DType::kQ4_B64> : Decodes<planes<4, 64>> {};
template <>
struct Decoder<DType::kQ5_B64> : Decodes<planes<5, 64>> {};
template <>
struct Decoder<DType::kQ6_B64> : Decodes<planes<6, 64>> {};
template <>
struct Decoder<DType::kQ8_B32> : Decodes<planes<8, 32>> {};
template <>
struct Decoder<DType::kQ3H_B64> : Decodes<pairs_of_11> {};

}  // namespace weft::cuda::decoding
