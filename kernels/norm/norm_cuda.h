#pragma once

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/norm/norm_spec.h"

namespace weft::cuda {

/// out = sum_scale * (scale * (normalized(in) * (weight + weight_offset) + bias) + residual), as
/// weft::NormParams.
struct CudaNormParams {
  std::int64_t rows = 0;
  NormSpec spec{};
  DeviceRows in{};  ///< f32, f16 or bf16
  const float* weight = nullptr;
  const float* bias = nullptr;
  float scale = 1;
  DeviceRows residual{};  ///< f32, or data null
  float sum_scale = 1;
  DeviceRows out{};  ///< f32, f16 or bf16; may be `in`
};

/// Rows of at most 32,768 numbers; wider ones are cudaErrorInvalidValue.
[[nodiscard]] Status norm(const CudaNormParams& params, Stream stream);

}  // namespace weft::cuda
