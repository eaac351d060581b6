#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "weft/core/kv_dtype.h"
#include "weft/kernels/simd/narrow_float.h"

/// The rows of a KV cache (kv_layer.h) by plain loops that a reader can check.
namespace weft {

/// The scale by which a row's greatest number gets the greatest code.
inline float kv_scale_of(DType dtype, std::span<const float> numbers) {
  float greatest = 0;
  for (const float number : numbers) {
    if (!std::isfinite(number)) return std::numeric_limits<float>::quiet_NaN();
    greatest = std::max(greatest, std::abs(number));
  }
  const float scale = greatest / (dtype == DType::kI8 ? 127.0F : 448.0F);
  return std::isnormal(scale) ? scale : 0;
}

/// Writes a row as a cache keeps it.
inline void write_kv_row(DType dtype, std::span<const float> numbers, std::span<std::byte> to) {
  std::byte* next = to.data();
  const auto put = [&next](auto number) {
    std::memcpy(next, &number, sizeof(number));
    next += sizeof(number);
  };
  const float scale = is_coded_kv(dtype) ? kv_scale_of(dtype, numbers) : 1;
  if (is_coded_kv(dtype)) put(scale);
  for (const float number : numbers) {
    const float code = scale > 0 ? number / scale : 0;
    if (dtype == DType::kF32) put(number);
    if (dtype == DType::kF16) put(to_f16(number));
    if (dtype == DType::kBF16) put(to_bf16(number));
    if (dtype == DType::kI8) put(static_cast<std::int8_t>(std::nearbyint(code)));
    if (dtype == DType::kF8_E4M3) put(to_e4m3(code));
  }
}

template <class Number>
Number kv_bytes_as(std::span<const std::byte> memory, std::size_t offset) {
  Number number;
  std::memcpy(&number, memory.data() + offset, sizeof(number));
  return number;
}

/// Number `d` of the row that begins with `memory`.
inline float kv_number(DType dtype, std::span<const std::byte> memory, std::int32_t d) {
  const auto at = static_cast<std::size_t>(d);
  if (dtype == DType::kF32) return kv_bytes_as<float>(memory, at * sizeof(float));
  if (dtype == DType::kF16) return from_f16(kv_bytes_as<std::uint16_t>(memory, at * 2));
  if (dtype == DType::kBF16) return from_bf16(kv_bytes_as<std::uint16_t>(memory, at * 2));
  const auto scale = kv_bytes_as<float>(memory, 0);
  const auto code = kv_bytes_as<std::uint8_t>(memory, sizeof(scale) + at);
  if (dtype == DType::kI8) return scale * static_cast<float>(static_cast<std::int8_t>(code));
  return scale * from_e4m3(code);
}

}  // namespace weft
