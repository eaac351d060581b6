#include "weft/kernels/norm/scale_rows.h"

#include "weft/core/error/internal_error.h"

namespace weft {

void scale_rows(const ScaleRowsParams& params, Share share) {
  const std::int64_t scales = params.scales.width;
  if (params.in.width != params.out.width || params.scales.count < params.out.count || scales < 1 ||
      params.out.width % scales != 0) {
    internal_error("scale_rows: shapes do not fit");
  }
  const std::int64_t run = params.out.width / scales;
  const Share::Range rows = share.of(params.out.count);
  for (std::int64_t t = rows.begin; t < rows.end; ++t) {
    const float* scale = params.scales.row(t);
    const float* in = params.in.row(t);
    const float* residual = params.residual.data == nullptr ? nullptr : params.residual.row(t);
    float* out = params.out.row(t);
    for (std::int64_t i = 0; i < params.out.width; ++i) {
      const float scaled = scale[i / run] * in[i];
      out[i] = residual == nullptr ? scaled : residual[i] + scaled;
    }
  }
}

}  // namespace weft
