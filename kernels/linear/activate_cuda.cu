#include "weft/kernels/activation_cuda.cuh"
#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/linear/activate.h"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

namespace weft::cuda {
namespace {

__device__ Four add_bias(Four value, const float* bias, std::int64_t first, std::int64_t count) {
  if (bias == nullptr) return value;
  const Four more = load_floats(bias, first, count);
#pragma unroll
  for (int i = 0; i < 4; ++i) value.at[i] += more.at[i];
  return value;
}

__global__ void __launch_bounds__(kRowThreads) activate_kernel(CudaActivateParams params) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t width = params.out.width;
  const auto [row, first] = row_place();
  if (first >= width) return;
  const auto* in = static_cast<const float*>(row_of(params.in, row));
  const std::int64_t gate = params.alternate ? gate_row(first) : first;
  Four value = add_bias(load_four(DType::kF32, in, gate), params.bias, first, width - first);
  Four up{};
  if (params.gated) {
    const std::int64_t of_up = params.alternate ? gate + kGateBlock : width + first;
    up = add_bias(load_floats(in, of_up, width - first),
                  params.bias == nullptr ? nullptr : params.bias + width, first, width - first);
  }
  Four residual{};
  if (params.residual.data != nullptr)
    residual = load_four(DType::kF32, row_of(params.residual, row), first);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float result = params.gated ? gated_output(params.spec, value.at[i], up.at[i])
                                      : plain_output(params.spec, value.at[i]);
    value.at[i] = fmaf(params.spec.scale, result, residual.at[i]);
  }
  store_four(params.out.dtype, writable_row(params.out, row), first, value, width - first);
}

}  // namespace

Status activate(const CudaActivateParams& params, Stream stream) {
  return launch_rows(activate_kernel, params.rows, params.out.width, stream, params);
}

}  // namespace weft::cuda
