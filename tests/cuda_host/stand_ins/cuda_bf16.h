#pragma once

// Stands in for CUDA's header of this name, as far as the kernels use it.

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "weft/kernels/simd/narrow_float.h"

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

struct __nv_bfloat16 {
  std::uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline float __bfloat162float(__nv_bfloat16 number) { return weft::from_bf16(number.bits); }
inline __nv_bfloat16 __float2bfloat16_rn(float number) { return {weft::to_bf16(number)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 two) {
  return {__bfloat162float(two.x), __bfloat162float(two.y)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline __nv_bfloat162 __float2bfloat162_rn(float number) {
  return __floats2bfloat162_rn(number, number);
}

namespace weft::cuda_host {

/// To bf16 in one rounding: what float32 drops stays seen in its last bit.
inline __nv_bfloat16 narrow(double exact) {
  auto number = static_cast<float>(exact);
  if (std::isfinite(number) && static_cast<double>(number) != exact) {
    auto bits = std::bit_cast<std::uint32_t>(number);
    const bool is_too_far = std::abs(static_cast<double>(number)) > std::abs(exact);
    if (is_too_far) --bits;
    number = std::bit_cast<float>(bits | 1U);
  }
  return __float2bfloat16_rn(number);
}

inline double wide(__nv_bfloat16 number) { return static_cast<double>(__bfloat162float(number)); }

}  // namespace weft::cuda_host

inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  using ::weft::cuda_host::narrow;
  using ::weft::cuda_host::wide;
  return {narrow(std::fma(wide(a.x), wide(b.x), wide(c.x))),
          narrow(std::fma(wide(a.y), wide(b.y), wide(c.y)))};
}
inline __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) {
  using ::weft::cuda_host::narrow;
  using ::weft::cuda_host::wide;
  return {narrow(wide(a.x) * wide(b.x)), narrow(wide(a.y) * wide(b.y))};
}
inline __nv_bfloat162 __hsub2(__nv_bfloat162 a, __nv_bfloat162 b) {
  using ::weft::cuda_host::narrow;
  using ::weft::cuda_host::wide;
  return {narrow(wide(a.x) - wide(b.x)), narrow(wide(a.y) - wide(b.y))};
}

// NOLINTEND(readability-identifier-naming)
