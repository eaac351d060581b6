#pragma once

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// out[t, i] = residual[t, i] + scales[t, i / (H / W)] * in[t, i]: a row has one scale, or one for
/// each run of H / W numbers.
struct ScaleRowsParams {
  ConstRows in;        ///< [T, H]
  ConstRows scales;    ///< [T, W], W divides H
  ConstRows residual;  ///< [T, H], data null: no residual; may be `out`
  Rows out;            ///< [T, H]; may be `in`
};

/// A row's result does not depend on the other rows. Allocates nothing.
void scale_rows(const ScaleRowsParams& params, Share share);

}  // namespace weft

namespace weft::cuda {

/// As weft::ScaleRowsParams; all f32.
struct CudaScaleRowsParams {
  std::int64_t rows = 0;
  DeviceRows in{};
  DeviceRows scales{};    ///< [T, W], W divides H
  DeviceRows residual{};  ///< data null when there is none; may be `out`
  DeviceRows out{};       ///< may be `in`
};

[[nodiscard]] Status scale_rows(const CudaScaleRowsParams& params, Stream stream);

}  // namespace weft::cuda
