#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/core/dtype.h"
#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/simd/narrow_float.h"

/// Writes and reads the rows of a KV cache (kv_layer.h), with the same bytes as on the host.
namespace weft::cuda {

/// Rows of plain numbers.
template <class Stored>
class PlainKvRow {
 public:
  /// Row `row` of a cache whose rows have `size` numbers.
  __device__ PlainKvRow(const std::byte* cache, std::uint32_t row, std::int32_t size)
      : numbers_(reinterpret_cast<const Stored*>(cache) + std::int64_t{row} * size) {}

  [[nodiscard]] __device__ float number(std::int32_t at) const { return widened(numbers_[at]); }

 private:
  __device__ static float widened(float number) { return number; }
  __device__ static float widened(__half number) { return __half2float(number); }
  __device__ static float widened(__nv_bfloat16 number) { return __bfloat162float(number); }

  const Stored* numbers_;
};

struct Int8Code {
  static constexpr float kGreatest = 127;

  __device__ static std::uint8_t encode(float number) {
    return static_cast<std::uint8_t>(__float2int_rn(number));
  }
  __device__ static float decode(std::uint8_t code) {
    return static_cast<float>(static_cast<std::int8_t>(code));
  }
};

struct E4M3Code {
  static constexpr float kGreatest = 448;

  __device__ static std::uint8_t encode(float number) { return to_e4m3(number); }
  __device__ static float decode(std::uint8_t code) { return weft::from_e4m3(code); }
};

/// Bytes of a row's scale. A row's size need not be a multiple of 4, so a scale may be at any
/// address.
inline constexpr std::int32_t kKvScaleBytes = sizeof(float);

/// Rows of a scale and codes.
template <class Code>
class CodedKvRow {
 public:
  __device__ CodedKvRow(const std::byte* cache, std::uint32_t row, std::int32_t size) {
    const std::byte* from = cache + std::int64_t{row} * (kKvScaleBytes + size);
    std::memcpy(&scale_, from, sizeof scale_);
    codes_ = reinterpret_cast<const std::uint8_t*>(from) + kKvScaleBytes;
  }

  [[nodiscard]] __device__ float number(std::int32_t at) const {
    return Code::decode(codes_[at]) * scale_;
  }

 private:
  const std::uint8_t* codes_;
  float scale_;
};

/// Returns the scale of a row's codes, as the host does: NaN where a number of the row is NaN or
/// infinite, 0 where all are too small for a normal scale. A whole warp calls it.
__device__ inline float kv_scale_of(const float* row, std::int32_t size, float greatest_code,
                                    int lane) {
  constexpr unsigned kInfinity = 0x7f800000;
  constexpr float kLeastNormal = 0x1p-126F;
  // Magnitudes compare as their bits do; infinity and NaN are greatest.
  unsigned greatest = 0;
  for (std::int32_t i = lane; i < size; i += kWarp) {
    greatest = max(greatest, __float_as_uint(row[i]) & 0x7fffffffU);
  }
#pragma unroll
  for (int other = kWarp / 2; other > 0; other /= 2) {
    greatest = max(greatest, __shfl_xor_sync(kWholeWarp, greatest, other));
  }
  if (greatest >= kInfinity) return __uint_as_float(0x7fc00000);
  const float scale = __fdiv_rn(__uint_as_float(greatest), greatest_code);
  return scale >= kLeastNormal ? scale : 0.0F;
}

template <class Code>
__device__ void encode_kv_row(const float* row, std::int32_t size, std::byte* to, int lane) {
  const float scale = kv_scale_of(row, size, Code::kGreatest, lane);
  if (lane == 0) std::memcpy(to, &scale, sizeof scale);
  auto* codes = reinterpret_cast<std::uint8_t*>(to) + kKvScaleBytes;
  for (std::int32_t i = lane; i < size; i += kWarp) {
    codes[i] = scale > 0 ? Code::encode(__fdiv_rn(row[i], scale)) : std::uint8_t{0};
  }
}

/// Writes row `row` of a cache of `dtype`. A whole warp calls it.
__device__ inline void store_kv_row(DType dtype, const float* numbers, std::int32_t size,
                                    std::byte* cache, std::int64_t row, int lane) {
  if (dtype == DType::kI8) {
    return encode_kv_row<Int8Code>(numbers, size, cache + row * (kKvScaleBytes + size), lane);
  }
  if (dtype == DType::kF8_E4M3) {
    return encode_kv_row<E4M3Code>(numbers, size, cache + row * (kKvScaleBytes + size), lane);
  }
  for (std::int32_t i = lane; i < size; i += kWarp) {
    store_one(dtype, cache, row * size + i, numbers[i]);
  }
}

}  // namespace weft::cuda
