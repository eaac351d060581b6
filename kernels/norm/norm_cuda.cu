#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/norm/norm_cuda.h"

namespace weft::cuda {
namespace {

// A thread holds this many fours of its row, so that it is read once: the fewer, the more loads of
// a row are in flight at a time.
constexpr int kMostHeld = 8;
constexpr int kMostThreads = 1024;

/// The deviation is taken in a second pass, from the differences to the mean: sums of squares would
/// cancel.
template <int kHeld>
__global__ void __launch_bounds__(kMostThreads) norm_kernel(CudaNormParams params) {
  __shared__ float sums[kWarp];
  __shared__ float squares[kWarp];
  const std::int64_t width = params.in.width;
  const std::int64_t row = blockIdx.x;
  const auto column = [&](int held) {
    return (static_cast<std::int64_t>(held) * blockDim.x + threadIdx.x) * 4;
  };

  // Weights are constant: they are on their way before the predecessor ends.
  Four weight[kHeld];
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    if (params.weight != nullptr) {
      weight[held] = load_floats(params.weight, column(held), width - column(held));
    }
  }
  let_successor_start();
  wait_for_predecessor();
  Four value[kHeld];
  float sum = 0;
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    const std::int64_t first = column(held);
    value[held] = {};
    if (first >= width) continue;
    value[held] = load_four(params.in.dtype, row_of(params.in, row), first);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + i >= width) value[held].at[i] = 0;
      sum += value[held].at[i];
    }
  }
  const auto count = static_cast<float>(width);
  const float mean = params.spec.kind == NormKind::kLayer ? block_sum(sum, sums) / count : 0.0F;
  float square = 0;
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float difference = value[held].at[i] - mean;
      if (column(held) + i < width) square += difference * difference;
    }
  }
  const float inverse = 1.0F / sqrtf(block_sum(square, squares) / count + params.spec.eps);
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    const std::int64_t first = column(held);
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

}  // namespace

Status norm(const CudaNormParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  const std::int64_t fours = (params.in.width + 3) / 4;
  if (fours > std::int64_t{kMostHeld} * kMostThreads) return status_of(cudaErrorInvalidValue);
  void (*kernel)(CudaNormParams) = norm_kernel<kMostHeld>;
  std::int64_t held = kMostHeld;
  if (fours <= kMostThreads / 2) {
    kernel = norm_kernel<1>;
    held = 1;
  } else if (fours <= 2 * kMostThreads) {
    kernel = norm_kernel<2>;
    held = 2;
  } else if (fours <= 4 * kMostThreads) {
    kernel = norm_kernel<4>;
    held = 4;
  }
  const std::int64_t threads = (fours + held - 1) / held;
  const auto block = static_cast<unsigned>((threads + kWarp - 1) / kWarp * kWarp);
  return launch(kernel, dim3(static_cast<unsigned>(params.rows)), dim3(block), 0, stream, params);
}

}  // namespace weft::cuda
