#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "weft/gpu/cuda/runtime/step_kernels.h"
#include "weft/kernels/cuda/launch_cuda.cuh"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;

__device__ float widened(const void* row, DType dtype, std::int64_t at) {
  if (dtype == DType::kF32) return static_cast<const float*>(row)[at];
  if (dtype == DType::kF16) return __half2float(static_cast<const __half*>(row)[at]);
  return __bfloat162float(static_cast<const __nv_bfloat16*>(row)[at]);
}

__device__ void narrow(void* row, DType dtype, std::int64_t at, float value) {
  if (dtype == DType::kF32) {
    static_cast<float*>(row)[at] = value;
  } else if (dtype == DType::kF16) {
    static_cast<__half*>(row)[at] = __float2half_rn(value);
  } else {
    static_cast<__nv_bfloat16*>(row)[at] = __float2bfloat16_rn(value);
  }
}

__device__ std::int64_t bytes_of_element(DType dtype) { return dtype == DType::kF32 ? 4 : 2; }

__global__ void __launch_bounds__(kThreads) convert_kernel(const CudaConvertParams params) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t row = blockIdx.x;
  const std::int64_t from = params.rows_of == nullptr ? row : params.rows_of[row];
  const auto* in = static_cast<const char*>(params.in.data) +
                   from * params.in.stride * bytes_of_element(params.in.dtype);
  auto* out = static_cast<char*>(params.out.data) +
              row * params.out.stride * bytes_of_element(params.out.dtype);
  for (std::int64_t at = std::int64_t{blockIdx.y} * kThreads + threadIdx.x; at < params.in.width;
       at += std::int64_t{gridDim.y} * kThreads) {
    narrow(out, params.out.dtype, at, widened(in, params.in.dtype, at));
  }
}

__global__ void signal_kernel(const CudaSignalParams params) {
  wait_for_predecessor();
  __threadfence_system();
  *static_cast<volatile std::uint64_t*>(params.flag) = *params.value;
}

}  // namespace

Status convert(const CudaConvertParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  const auto across = static_cast<unsigned>((params.in.width + kThreads - 1) / kThreads);
  return launch(convert_kernel, dim3(static_cast<unsigned>(params.rows), across), dim3(kThreads), 0,
                stream, params);
}

Status signal(const CudaSignalParams& params, Stream stream) {
  return launch(signal_kernel, dim3(1), dim3(1), 0, stream, params);
}

}  // namespace weft::cuda
