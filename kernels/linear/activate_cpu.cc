#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/cpu_ops.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/linear/activate_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/linear/linear_epilogue-inl.h"
#include "weft/kernels/simd/simd_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// Outputs of a row that a thread takes at once: one row of a decode step is worth several threads.
constexpr std::int64_t kActivateOutputs = 256;

HWY_ATTR void activate_part(const ActivateParams& params, std::int64_t row, std::int64_t begin,
                            std::int64_t end) {
  const FloatTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float* in = params.in.row(row);
  float* out = params.out.row(row);
  const float* residual = params.residual.data == nullptr ? nullptr : params.residual.row(row);
  const FloatVec scale = hn::Set(d, params.spec.scale);
  for (std::int64_t i = begin; i < end; i += lanes) {
    const auto count = static_cast<std::size_t>(end - i);
    const FloatVec sum = load_first(in + i, count);
    FloatVec value = params.gated ? gated_output(d, params.spec, sum,
                                                 load_first(in + params.out.width + i, count))
                                  : plain_output(d, params.spec, sum);
    value = hn::Mul(value, scale);
    if (residual != nullptr) value = hn::Add(load_first(residual + i, count), value);
    store_first(value, out + i, count);
  }
}

HWY_ATTR void activate_on_target(const ActivateParams& params, Share share) {
  const std::int64_t width = params.out.width;
  const std::int64_t parts = (width + kActivateOutputs - 1) / kActivateOutputs;
  const Share::Range own = share.of(params.out.count * parts);
  for (std::int64_t at = own.begin; at < own.end; ++at) {
    const std::int64_t begin = at % parts * kActivateOutputs;
    activate_part(params, at / parts, begin, std::min(begin + kActivateOutputs, width));
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(activate_on_target);

void cpu::activate(const ActivateParams& params, Share share) {
  HWY_DYNAMIC_DISPATCH(activate_on_target)(params, share);
}

}  // namespace weft
#endif  // HWY_ONCE
