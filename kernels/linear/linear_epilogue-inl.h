// The steps that follow a product's sums, before scale and residual (linear.h). Included once for
// each target of a kernel, like Highway's own -inl.h files. d is a tag of float32.
#if defined(WEFT_KERNELS_LINEAR_EPILOGUE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LINEAR_EPILOGUE_INL_H
#undef WEFT_KERNELS_LINEAR_EPILOGUE_INL_H
#else
#define WEFT_KERNELS_LINEAR_EPILOGUE_INL_H
#endif

#include <hwy/highway.h>

#include "weft/kernels/linear/linear_spec.h"
#include "weft/kernels/simd/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

/// soft_cap(act(sum))
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V plain_output(D d, const LinearSpec& spec, V sum) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V value = activate(d, spec.activation, spec.xielu, sum);
  if (!(spec.soft_cap > 0)) return value;
  const V cap = hn::Set(d, spec.soft_cap);
  return hn::Mul(cap, tanh_of(d, hn::Div(value, cap)));
}

/// act(min(gate, limit)) * (clamp(up, limit) + up_offset)
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V gated_output(D d, const LinearSpec& spec, V gate, V up) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (spec.gate_limit > 0) {
    // The order of arguments keeps NaN.
    const V most = hn::Set(d, spec.gate_limit);
    const V least = hn::Neg(most);
    gate = hn::IfThenElse(hn::Gt(gate, most), most, gate);
    up = hn::IfThenElse(hn::Gt(up, most), most, up);
    up = hn::IfThenElse(hn::Lt(up, least), least, up);
  }
  const V opened = spec.gate_alpha != 0
                       ? hn::Mul(gate, sigmoid_of(d, hn::Mul(gate, hn::Set(d, spec.gate_alpha))))
                       : activate(d, spec.activation, spec.xielu, gate);
  return hn::Mul(opened, hn::Add(up, hn::Set(d, spec.up_offset)));
}

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_LINEAR_EPILOGUE_INL_H
