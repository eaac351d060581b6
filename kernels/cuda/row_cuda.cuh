#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/launch_cuda.cuh"

/// Loads and stores rows of f32, f16 or bf16, four numbers at a time; sums over a thread block.
namespace weft::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffU;
inline constexpr int kWarp = 32;

struct Four {
  float at[4];
};

__device__ inline float load_one(DType dtype, const void* data, std::int64_t index) {
  if (dtype == DType::kF32) return static_cast<const float*>(data)[index];
  if (dtype == DType::kF16) return __half2float(static_cast<const __half*>(data)[index]);
  return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
}

__device__ inline void store_one(DType dtype, void* data, std::int64_t index, float value) {
  if (dtype == DType::kF32) {
    static_cast<float*>(data)[index] = value;
  } else if (dtype == DType::kF16) {
    static_cast<__half*>(data)[index] = __float2half_rn(value);
  } else {
    static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(value);
  }
}

/// Returns the two 16-bit numbers of a word, the low half first.
__device__ inline float2 widen_pair(DType dtype, unsigned word) {
  if (dtype == DType::kF16) return __half22float2(reinterpret_cast<const __half2&>(word));
  return {__uint_as_float(word << 16U), __uint_as_float(word & 0xffff0000U)};
}

__device__ inline unsigned narrow_pair(DType dtype, float low, float high) {
  if (dtype == DType::kF16) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const unsigned&>(pair);
  }
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const unsigned&>(pair);
}

/// Loads numbers index .. index + 3. `index` is a multiple of 4, `data` is aligned to 16 bytes.
__device__ inline Four load_four(DType dtype, const void* data, std::int64_t index) {
  if (dtype == DType::kF32) {
    const float4 v = *reinterpret_cast<const float4*>(static_cast<const float*>(data) + index);
    return {{v.x, v.y, v.z, v.w}};
  }
  const uint2 v = *reinterpret_cast<const uint2*>(static_cast<const __half*>(data) + index);
  const float2 a = widen_pair(dtype, v.x);
  const float2 b = widen_pair(dtype, v.y);
  return {{a.x, a.y, b.x, b.y}};
}

/// Stores the first `count` of four numbers.
__device__ inline void store_four(DType dtype, void* data, std::int64_t index, const Four& four,
                                  std::int64_t count) {
  if (count < 4) {
    for (int i = 0; i < count; ++i) store_one(dtype, data, index + i, four.at[i]);
  } else if (dtype == DType::kF32) {
    *reinterpret_cast<float4*>(static_cast<float*>(data) + index) =
        make_float4(four.at[0], four.at[1], four.at[2], four.at[3]);
  } else {
    *reinterpret_cast<uint2*>(static_cast<__half*>(data) + index) = make_uint2(
        narrow_pair(dtype, four.at[0], four.at[1]), narrow_pair(dtype, four.at[2], four.at[3]));
  }
}

/// Loads the first `count` of four floats at any alignment; the others are zero.
__device__ inline Four load_floats(const float* data, std::int64_t index, std::int64_t count) {
  if (count >= 4 && (reinterpret_cast<std::uintptr_t>(data + index) & 15U) == 0) {
    return load_four(DType::kF32, data, index);
  }
  Four four{};
#pragma unroll
  for (int i = 0; i < 4; ++i) four.at[i] = i < count ? data[index + i] : 0.0F;
  return four;
}

__device__ inline const void* row_of(const DeviceRows& rows, std::int64_t row) {
  return static_cast<const std::byte*>(rows.data) +
         row * rows.stride * (rows.dtype == DType::kF32 ? 4 : 2);
}
__device__ inline void* writable_row(const DeviceRows& rows, std::int64_t row) {
  return const_cast<void*>(row_of(rows, row));
}

/// Threads of a block in kernels that compute each number of a row by itself. A block takes
/// kRowColumns numbers. A thread takes the four numbers at `first`, which may be past the row's
/// end.
inline constexpr int kRowThreads = 256;
inline constexpr int kRowColumns = 4 * kRowThreads;

struct RowPlace {
  std::int64_t row;
  std::int64_t first;
};

__device__ inline RowPlace row_place() {
  return {std::int64_t{blockIdx.x}, std::int64_t{blockIdx.y} * kRowColumns + threadIdx.x * 4};
}

/// Launches such a kernel for `rows` rows of `width` numbers.
template <class Params>
Status launch_rows(void (*kernel)(Params), std::int64_t rows, std::int64_t width, Stream stream,
                   const Params& params) {
  if (rows == 0) return Status::kSuccess;
  const dim3 grid(static_cast<unsigned>(rows),
                  static_cast<unsigned>((width + kRowColumns - 1) / kRowColumns));
  return launch(kernel, grid, dim3(kRowThreads), 0, stream, params);
}

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int other = kWarp / 2; other > 0; other /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, other);
  }
  return value;
}

/// Returns the sum over the block to every thread. `room` has a number for each warp, and may be
/// reused after a barrier.
__device__ inline float block_sum(float value, float* room) {
  value = warp_sum(value);
  const unsigned warps = blockDim.x / kWarp;
  if (threadIdx.x % kWarp == 0) room[threadIdx.x / kWarp] = value;
  __syncthreads();
  const unsigned lane = threadIdx.x % kWarp;
  return warp_sum(lane < warps ? room[lane] : 0.0F);
}

}  // namespace weft::cuda
