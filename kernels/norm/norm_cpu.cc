#include "weft/kernels/cpu_ops.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/norm/norm_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/norm/norm_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

void norm_rows(const NormParams& params, Share share) {
  const auto width = static_cast<std::size_t>(params.in.width);
  const Share::Range rows = share.of(params.in.count);
  for (std::int64_t t = rows.begin; t < rows.end; ++t) {
    const float* in = params.in.row(t);
    const Affine affine{
        .weight = params.weight,
        .bias = params.bias,
        .offset = params.spec.weight_offset,
        .scale = params.scale,
        .residual = params.residual.data != nullptr ? params.residual.row(t) : nullptr,
        .sum_scale = params.sum_scale};
    apply_norm(moments_of(params.spec, in, width), affine, in, params.out.row(t), width);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(norm_rows);

void cpu::norm(const NormParams& params, Share share) {
  HWY_DYNAMIC_DISPATCH(norm_rows)(params, share);
}

}  // namespace weft
#endif  // HWY_ONCE
