#pragma once

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/linear/linear_spec.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The epilogue of a product as a separate op, for a product whose sums get an addend before the
/// activation: out = residual + scale * soft_cap(act(in)). If gated, `in` has gates in its columns
/// [0, N) and ups in [N, 2N), which are combined to one number as in linear.h.
struct ActivateParams {
  ConstRows in;  ///< [T, N], or gated [T, 2N]
  LinearSpec spec;
  bool gated = false;
  ConstRows residual;  ///< [T, N]; data null: no residual; may be `out`
  Rows out;            ///< [T, N]; does not overlap `in`
};

/// Gives the bits that linear() gives from the same sums. A row depends on its own row of `in`
/// alone. Allocates nothing.
void activate(const ActivateParams& params, Share share);

}  // namespace weft

namespace weft::cuda {

/// As weft::ActivateParams. If gated, gates and ups of `in` alternate in blocks of kGateBlock
/// (linear_cuda.h), or the ups follow the gates.
struct CudaActivateParams {
  std::int64_t rows = 0;
  DeviceRows in{};  ///< f32
  LinearSpec spec{};
  bool gated = false;
  bool alternate = false;
  const float* bias =
      nullptr;            ///< [N], gated [2N] (gate, then up), is added to `in` first; or null
  DeviceRows residual{};  ///< f32; data null when there is none; may be `out`
  DeviceRows out{};       ///< f32, f16 or bf16
};

[[nodiscard]] Status activate(const CudaActivateParams& params, Stream stream);

}  // namespace weft::cuda
