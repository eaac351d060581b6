#pragma once

#include "weft/kernels/cuda/cuda_types.h"

namespace weft::cuda {

/// out[t, i] = residual[t, i] + scales[t, i / (H / W)] * in[t, i]; all f32.
struct CudaScaleRowsParams {
  std::int64_t rows = 0;
  DeviceRows in{};
  DeviceRows scales{};    ///< [T, W], W divides H
  DeviceRows residual{};  ///< data null when there is none; may be `out`
  DeviceRows out{};       ///< may be `in`
};

[[nodiscard]] Status scale_rows(const CudaScaleRowsParams& params, Stream stream);

}  // namespace weft::cuda
