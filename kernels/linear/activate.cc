#include "weft/kernels/linear/activate.h"

#include <cstdint>

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {

void activate(const ActivateParams& params, Share share) {
  const std::int64_t rows = params.out.count;
  const std::int64_t width = params.out.width;
  require(holds_rows(params.out, rows, 0), "activate: out");
  require(holds_rows(params.in, rows, params.gated ? 2 * width : width),
          "activate: in does not fit out");
  require(params.residual.data == nullptr || holds_rows(params.residual, rows, width),
          "activate: residual does not fit out");
  cpu::activate(params, share);
}

}  // namespace weft
