#include "weft/kernels/norm/norm.h"

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {

void norm(const NormParams& params, Share share) {
  const ConstRows& in = params.in;
  require(in.width >= 1 && holds_rows(in, in.count, in.width), "norm: in");
  require(holds_rows(params.out, in.count, in.width), "norm: out does not fit in");
  require(params.residual.data == nullptr || holds_rows(params.residual, in.count, in.width),
          "norm: residual does not fit in");
  cpu::norm(params, share);
}

}  // namespace weft
