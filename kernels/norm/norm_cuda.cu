#include "weft/kernels/norm/norm_row_cuda.cuh"

namespace weft::cuda {
namespace {

template <int kHeld>
__global__ void __launch_bounds__(kMostNormThreads) norm_kernel(CudaNormParams params) {
  const std::int64_t width = params.in.width;
  const std::int64_t row = blockIdx.x;
  // Weights are constant, so they are loaded before the preceding kernel ends.
  Four weight[kHeld];
  load_norm_weight(params, weight);
  let_successor_start();
  wait_for_predecessor();
  Four value[kHeld];
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    const std::int64_t first = held_column(held);
    value[held] = {};
    if (first >= width) continue;
    value[held] = load_four(params.in.dtype, row_of(params.in, row), first);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + i >= width) value[held].at[i] = 0;
    }
  }
  norm_row(params, row, value, weight);
}

}  // namespace

Status norm(const CudaNormParams& params, Stream stream) {
  return launch_norm({norm_kernel<1>, norm_kernel<2>, norm_kernel<4>, norm_kernel<8>}, params.rows,
                     params.in.width, stream, params);
}

}  // namespace weft::cuda
