#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/core/dtype.h"
#include "weft/core/error/internal_error.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/simd/narrow_float.h"

/// Numbers of the types that devices compute with, in the host's memory.
namespace weft::cuda::reference {

/// Element `index` of an array of f32, f16 or bf16.
inline float load(DType dtype, const void* data, std::int64_t index) {
  const auto* bytes = static_cast<const std::byte*>(data);
  if (dtype == DType::kF32) {
    float number = 0;
    std::memcpy(&number, bytes + index * 4, 4);
    return number;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes + index * 2, 2);
  if (dtype == DType::kF16) return from_f16(bits);
  if (dtype == DType::kBF16) return from_bf16(bits);
  internal_error("reference: numbers of this type");
}

inline void store(DType dtype, void* data, std::int64_t index, double value) {
  auto* bytes = static_cast<std::byte*>(data);
  const auto number = static_cast<float>(value);
  if (dtype == DType::kF32) {
    std::memcpy(bytes + index * 4, &number, 4);
    return;
  }
  if (dtype != DType::kF16 && dtype != DType::kBF16) {
    internal_error("reference: numbers of this type");
  }
  const std::uint16_t bits = dtype == DType::kF16 ? to_f16(number) : to_bf16(number);
  std::memcpy(bytes + index * 2, &bits, 2);
}

inline double at(const DeviceRows& rows, std::int64_t row, std::int64_t column) {
  return load(rows.dtype, rows.data, row * rows.stride + column);
}

inline void put(const DeviceRows& rows, std::int64_t row, std::int64_t column, double value) {
  store(rows.dtype, rows.data, row * rows.stride + column, value);
}

}  // namespace weft::cuda::reference
