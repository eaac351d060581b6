#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "weft/kernels/activation_cuda.cuh"
#include "weft/kernels/linear/linear_cuda.h"

/// What every way to multiply does with its sums. One code, so that ways differ by the order of
/// their sums alone.
namespace weft::cuda {

__device__ inline void store_number(const DeviceRows& rows, std::int64_t row, std::int64_t column,
                                    float value) {
  const std::int64_t at = row * rows.stride + column;
  switch (rows.dtype) {
    case DType::kF16:
      static_cast<__half*>(rows.data)[at] = __float2half_rn(value);
      break;
    case DType::kBF16:
      static_cast<__nv_bfloat16*>(rows.data)[at] = __float2bfloat16_rn(value);
      break;
    default:
      static_cast<float*>(rows.data)[at] = value;
  }
}

/// CudaLinearParams without the product; goes into kernels by value.
struct LinearEpilogue {
  explicit LinearEpilogue(const CudaLinearParams& params)
      : bias(params.bias),
        residual(params.residual),
        out(params.out),
        outputs(params.weight.outputs),
        spec(params.spec) {}

  /// The bias of `output`; of a gated one outputs + n is that of its up.
  __device__ float bias_of(std::int64_t output) const {
    return bias == nullptr ? 0.0F : bias[output];
  }

  __device__ float residual_of(std::int64_t row, std::int64_t output) const {
    if (residual.data == nullptr) return 0.0F;
    return static_cast<const float*>(residual.data)[row * residual.stride + output];
  }

  /// `addend` is residual_of(row, output), which is read early where time matters.
  __device__ void store(std::int64_t row, std::int64_t output, float value, float addend) const {
    store_number(out, row, output, fmaf(spec.scale, value, addend));
  }

  const float* bias;
  DeviceRows residual;
  DeviceRows out;
  std::int64_t outputs;
  LinearSpec spec;
};

/// The row of a gated matrix that makes the gate of `output`; its up lies kGateBlock further.
__host__ __device__ constexpr std::int64_t gate_row(std::int64_t output) {
  return output / kGateBlock * 2 * kGateBlock + output % kGateBlock;
}

}  // namespace weft::cuda
