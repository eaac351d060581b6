#pragma once

#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// out[t] = residual[t] + scales[t] * in[t].
struct ScaleRowsParams {
  ConstRows in;        ///< [T, H]
  ConstRows scales;    ///< [T, 1]
  ConstRows residual;  ///< [T, H], data null when there is none; may be `out`
  Rows out;            ///< [T, H]; may be `in`
};

/// A row's result does not depend on the other rows. Nothing is allocated.
void scale_rows(const ScaleRowsParams& params, Share share);

}  // namespace weft
