#pragma once

#include <variant>

#include "weft/gpu/cuda/runtime/collectives.h"
#include "weft/gpu/cuda/runtime/step_kernels.h"
#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_shrink.h"
#include "weft/kernels/attention/attention_cuda.h"
#include "weft/kernels/cuda/copy_cuda.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/experts/experts.h"
#include "weft/kernels/linear/activate.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/norm/scale_rows.h"
#include "weft/kernels/rotary/rotary.h"
#include "weft/kernels/sample/sample_cuda.h"
#include "weft/kernels/sample/tell_part_cuda.h"

namespace weft::cuda {

/// One launcher, Status(const CudaXxxParams&, Stream), as an object.
template <auto kLaunch>
struct LauncherOf;
template <class CudaParams, Status (*kLaunch)(const CudaParams&, Stream)>
struct LauncherOf<kLaunch> {
  using Params = CudaParams;
  [[nodiscard]] Status operator()(const Params& params, Stream stream) const {
    return kLaunch(params, stream);
  }
};

/// Some launchers as one overloaded function.
template <auto... kLaunches>
struct Launchers : LauncherOf<kLaunches>... {
  using LauncherOf<kLaunches>::operator()...;

  /// Parameters of one of these launchers, or of one of `Others`. Borrowed.
  template <class... Others>
  using AnyParams =
      std::variant<const typename LauncherOf<kLaunches>::Params*..., const Others*...>;
};

/// All ops that a launcher alone computes on a GPU, and the small kernels around them. A new op's
/// launcher is added here. A Runtime then compiles only if it computes the launcher's parameters.
using OpLaunchers =
    Launchers<embed, norm, rotate_and_store, attention, route, expert_linear, combine, scale_rows,
              activate, adapter_shrink, adapter_expand, sample, resolve_tokens, start_counts,
              tell_parts, convert, write_tables, copy_pages, signal>;

/// The parameters of everything that a Runtime launches: the parameters of OpLaunchers, of
/// products, which need a LinearEngine, and of exchanges between ranks.
using AnyCudaParams =
    OpLaunchers::AnyParams<CudaLinearParams, CudaAllReduceParams, CudaSumNormParams,
                           CudaGatherParams, CudaSendParams, CudaReceiveParams, CudaTokensParams>;

}  // namespace weft::cuda
