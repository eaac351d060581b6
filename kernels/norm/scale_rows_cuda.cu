#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/norm/scale_rows.h"

namespace weft::cuda {
namespace {

__global__ void __launch_bounds__(kRowThreads) scale_rows_kernel(CudaScaleRowsParams params) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t width = params.out.width;
  const auto [row, first] = row_place();
  if (first >= width) return;
  const std::int64_t run = width / params.scales.width;
  const void* scales = row_of(params.scales, row);
  Four value = load_four(DType::kF32, row_of(params.in, row), first);
  Four residual{};
  if (params.residual.data != nullptr) {
    residual = load_four(DType::kF32, row_of(params.residual, row), first);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int64_t place = (first + i < width ? first + i : first) / run;
    value.at[i] = residual.at[i] + load_one(DType::kF32, scales, place) * value.at[i];
  }
  store_four(DType::kF32, writable_row(params.out, row), first, value, width - first);
}

}  // namespace

Status scale_rows(const CudaScaleRowsParams& params, Stream stream) {
  return launch_rows(scale_rows_kernel, params.rows, params.out.width, stream, params);
}

}  // namespace weft::cuda
