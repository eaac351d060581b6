#pragma once

#include <cstdint>

#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/norm/norm.h"

/// The norm of a row that a block's threads hold in registers.
namespace weft::cuda {

// A thread holds at most this many fours of its row, so that the row is read once. Fewer fours a
// thread mean more threads, and more loads in flight.
inline constexpr int kMostHeldFours = 8;
inline constexpr int kMostNormThreads = 1024;

/// The column where the thread's `held`-th four begins.
__device__ inline std::int64_t held_column(int held) {
  return (static_cast<std::int64_t>(held) * blockDim.x + threadIdx.x) * 4;
}

/// The weights of the columns that a thread holds.
template <int kHeld>
__device__ inline void load_norm_weight(const CudaNormParams& params, Four (&weight)[kHeld]) {
  if (params.weight == nullptr) return;
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    const std::int64_t first = held_column(held);
    weight[held] = load_floats(params.weight, first, params.in.width - first);
  }
}

/// Normalizes `value`, which holds row `row` in place of the params' `in`, and writes `out`.
/// Numbers beyond the row's end are zero. The deviation takes a second pass over differences to
/// the mean, since sums of squares would cancel.
template <int kHeld>
__device__ inline void norm_row(const CudaNormParams& params, std::int64_t row,
                                const Four (&value)[kHeld], const Four (&weight)[kHeld]) {
  __shared__ float sums[kWarp];
  __shared__ float squares[kWarp];
  const std::int64_t width = params.in.width;
  float sum = 0;
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += value[held].at[i];
  }
  const auto count = static_cast<float>(width);
  const float mean = params.spec.kind == NormKind::kLayer ? block_sum(sum, sums) / count : 0.0F;
  float square = 0;
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float difference = value[held].at[i] - mean;
      if (held_column(held) + i < width) square += difference * difference;
    }
  }
  const float inverse = 1.0F / sqrtf(block_sum(square, squares) / count + params.spec.eps);
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    const std::int64_t first = held_column(held);
    if (first >= width) continue;
    Four bias{};
    Four residual{};
    if (params.bias != nullptr) bias = load_floats(params.bias, first, width - first);
    if (params.residual.data != nullptr) {
      residual = load_four(DType::kF32, row_of(params.residual, row), first);
    }
    Four out;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out.at[i] = (value[held].at[i] - mean) * inverse;
      if (params.weight != nullptr) out.at[i] *= weight[held].at[i] + params.spec.weight_offset;
      out.at[i] = ((out.at[i] + bias.at[i]) * params.scale + residual.at[i]) * params.sum_scale;
    }
    store_four(params.out.dtype, writable_row(params.out, row), first, out, width - first);
  }
}

/// The kernel and the number of threads for rows of a width. There are four kernels, whose threads
/// hold 1, 2, 4 and 8 fours. Rows have at most 32,768 numbers.
struct NormBlock {
  int kernel = 0;
  unsigned threads = 0;
};
[[nodiscard]] inline NormBlock norm_block(std::int64_t width) {
  const std::int64_t fours = (width + 3) / 4;
  NormBlock block;
  std::int64_t held = 1;
  for (std::int64_t most = kMostNormThreads / 2; fours > most && block.kernel < 3; ++block.kernel) {
    most = 2 * held * kMostNormThreads;
    held *= 2;
  }
  const std::int64_t threads = (fours + held - 1) / held;
  block.threads = static_cast<unsigned>((threads + kWarp - 1) / kWarp * kWarp);
  return block;
}

/// Launches the kernel that fits the width (the threads of `kernels` hold 1, 2, 4 and 8 fours),
/// with a block for each row. Rows wider than 32,768 are cudaErrorInvalidValue.
template <class Params>
Status launch_norm(void (*const (&kernels)[4])(Params), std::int64_t rows, std::int64_t width,
                   Stream stream, const Params& params) {
  if (rows == 0) return Status::kSuccess;
  const std::int64_t fours = (width + 3) / 4;
  if (fours > std::int64_t{kMostHeldFours} * kMostNormThreads) {
    return status_of(cudaErrorInvalidValue);
  }
  const NormBlock block = norm_block(width);
  return launch(kernels[block.kernel], dim3(static_cast<unsigned>(rows)), dim3(block.threads), 0,
                stream, params);
}

}  // namespace weft::cuda
