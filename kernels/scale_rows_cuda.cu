#include "weft/kernels/row_cuda.cuh"
#include "weft/kernels/scale_rows_cuda.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kColumns = 4 * kThreads;

__global__ void __launch_bounds__(kThreads) scale_rows_kernel(ScaleRowsParams params) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t width = params.out.width;
  const std::int64_t row = blockIdx.x;
  const std::int64_t first = std::int64_t{blockIdx.y} * kColumns + threadIdx.x * 4;
  if (first >= width) return;
  const float scale = load_one(DType::kF32, row_of(params.scales, row), 0);
  Four value = load_four(DType::kF32, row_of(params.in, row), first);
  Four residual{};
  if (params.residual.data != nullptr) {
    residual = load_four(DType::kF32, row_of(params.residual, row), first);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) value.at[i] = residual.at[i] + scale * value.at[i];
  store_four(DType::kF32, writable_row(params.out, row), first, value, width - first);
}

}  // namespace

Status scale_rows(const ScaleRowsParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  const dim3 grid(static_cast<unsigned>(params.rows),
                  static_cast<unsigned>((params.out.width + kColumns - 1) / kColumns));
  return launch(scale_rows_kernel, grid, dim3(kThreads), 0, stream, params);
}

}  // namespace weft::cuda
