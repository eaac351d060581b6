#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "weft/core/encodings.h"

/// Shared by decoders on GPUs. Blocks of an even number of bytes begin at even addresses.
namespace weft::cuda::decoding {

using Bytes = const std::uint8_t*;

struct Eight {
  float at[8];
};

/// Decodes eight weights of an encoding's block: decode(block, i), i a multiple of 8. Each decoder
/// is registered below its code. decode_cuda.cuh needs one for all of kEncodings, so an encoding
/// without a decoder fails to compile.
template <DType kType>
struct Decoder;

template <Eight (*kFunction)(Bytes block, int i)>
struct Decodes {
  static __device__ Eight decode(Bytes block, int i) { return kFunction(block, i); }
};

/// Eight numbers, the j-th made by number(j).
template <class Number>
__device__ Eight eight(const Number& number) {
  Eight all;
#pragma unroll
  for (int j = 0; j < 8; ++j) all.at[j] = number(j);
  return all;
}

// Keeps one rounding an operation, as on the host: the compiler would fuse a product and a sum.
__device__ inline float times(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float plus(float a, float b) { return __fadd_rn(a, b); }

__device__ inline unsigned short_at(Bytes from) {
  return *reinterpret_cast<const std::uint16_t*>(from);
}
__device__ inline unsigned word_at(Bytes from) {
  return short_at(from) | short_at(from + 2) << 16U;
}
__device__ inline float half_of(unsigned bits) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}
__device__ inline float half_at(Bytes from) { return half_of(short_at(from)); }
/// Reads an f16 at any address.
__device__ inline float odd_half_at(Bytes from) { return half_of(from[0] | from[1] << 8U); }
/// Reads an f32 at any address.
__device__ inline float float_at(Bytes from) {
  return __uint_as_float(from[0] | from[1] << 8U | from[2] << 16U | unsigned{from[3]} << 24U);
}

}  // namespace weft::cuda::decoding
