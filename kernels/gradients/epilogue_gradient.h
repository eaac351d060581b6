#pragma once

#include "weft/kernels/linear/linear_spec.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The steps after the product of a linear op (linear.h): result and gradient. `sums` are the
/// products with the bias added; if gated, [T, 2N] with the gates before the ups.
struct EpilogueParams {
  LinearSpec spec{};
  bool gated = false;
  ConstRows sums{};      ///< [T, N], gated [T, 2N]
  ConstRows residual{};  ///< [T, N], or data null
  Rows out{};            ///< [T, N]; may be `sums` unless the op is gated
};

void finish_linear(const EpilogueParams& params, Share share);

struct EpilogueGradientParams {
  LinearSpec spec{};
  bool gated = false;
  ConstRows sums{};          ///< as in EpilogueParams
  ConstRows out_gradient{};  ///< [T, N]
  Rows sums_gradient{};      ///< is written: [T, N], gated [T, 2N]
};

/// The gradient of the residual is that of the output.
void epilogue_gradient(const EpilogueGradientParams& params, Share share);

}  // namespace weft
