#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/core/dtype.h"
#include "weft/kernels/encoding/quantize/scale_fit.h"
#include "weft/kernels/simd/narrow_float.h"

namespace weft {

using BlockBytes = std::uint8_t*;

/// Writes one block of finite numbers. A scale that overflows is written as infinity, for the
/// caller to find. Each quantizer is the inverse of the decoder of the same name (decode_*-inl.h).
using BlockQuantizer = void (*)(const FitGroup& numbers, BlockBytes block);

/// Each file returns the quantizers of its kind of types; null for other types.
[[nodiscard]] BlockQuantizer grid_quantizer_of(DType dtype) noexcept;
[[nodiscard]] BlockQuantizer linear_quantizer_of(DType dtype) noexcept;
[[nodiscard]] BlockQuantizer k_quantizer_of(DType dtype) noexcept;
[[nodiscard]] BlockQuantizer plane_quantizer_of(DType dtype) noexcept;
[[nodiscard]] BlockQuantizer table_quantizer_of(DType dtype) noexcept;

/// Stores a number as f16 and returns the rounded value.
inline float store_f16(float value, BlockBytes to) {
  const std::uint16_t bits = to_f16(value);
  std::memcpy(to, &bits, sizeof(bits));
  return from_f16(bits);
}

/// Sets bits of a byte that are still 0.
inline void add_bits(std::uint8_t& byte, int bits, std::int64_t shift) {
  byte = static_cast<std::uint8_t>(byte | bits << shift);
}

}  // namespace weft
