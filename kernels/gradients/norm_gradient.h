#pragma once

#include "weft/kernels/norm/norm_spec.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The gradient of norm() (norm.h) by its input: in_gradient += the gradient by `in` that follows
/// from out_gradient. The residual's gradient is sum_scale * out_gradient; weight and bias have
/// none, as they are frozen.
struct NormGradientParams {
  NormSpec spec = {};
  ConstRows in = {};              ///< [T, H]
  const float* weight = nullptr;  ///< [H], null = 1
  float scale = 1;                ///< the norm's scale, times sum_scale if there is one
  ConstRows out_gradient = {};    ///< [T, H]
  Rows in_gradient = {};          ///< [T, H], is added to; may not be out_gradient
};

/// A row's result does not depend on the other rows. Sums are in float64. Allocates nothing.
void norm_gradient(const NormGradientParams& params, Share share);

}  // namespace weft
