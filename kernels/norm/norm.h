#pragma once

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/norm/norm_spec.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// out = sum_scale * (scale * (normalized(in) * (weight + weight_offset) + bias) + residual), for
/// each row.
struct NormParams {
  NormSpec spec = {};
  ConstRows in = {};              ///< [T, H]
  const float* weight = nullptr;  ///< [H], null = 1 (weight_offset is then unused)
  const float* bias = nullptr;    ///< [H], null = 0
  float scale = 1;                ///< multiplies the norm before the residual is added
  ConstRows residual = {};  ///< [T, H], added to the result when data is not null; may be `out`
  float sum_scale = 1;      ///< multiplies the sum with the residual
  Rows out = {};            ///< [T, H]; may be `in`
};

/// A row's result does not depend on the other rows. Means are computed in float32 over lanes in a
/// fixed order. Allocates nothing.
void norm(const NormParams& params, Share share);

}  // namespace weft

namespace weft::cuda {

/// As weft::NormParams.
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
