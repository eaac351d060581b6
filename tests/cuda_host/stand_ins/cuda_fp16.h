#pragma once

// Stands in for CUDA's header of this name, as far as the kernels use it.

#include <cuda_runtime.h>

#include <cstdint>

#include "weft/kernels/simd/narrow_float.h"

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

struct __half {
  std::uint16_t bits;
};
struct alignas(4) __half2 {
  __half x, y;
};

inline float __half2float(__half number) { return weft::from_f16(number.bits); }
inline __half __float2half_rn(float number) { return {weft::to_f16(number)}; }
inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
inline float2 __half22float2(__half2 two) { return {__half2float(two.x), __half2float(two.y)}; }
inline __half2 __floats2half2_rn(float x, float y) {
  return {__float2half_rn(x), __float2half_rn(y)};
}

// NOLINTEND(readability-identifier-naming)
