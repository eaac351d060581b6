// The functions of activation.h and softmax on Highway's vectors. Included once for each target of
// a kernel, like Highway's own -inl.h files. d is a tag of float32.
#if defined(WEFT_KERNELS_VECTOR_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_VECTOR_MATH_H
#undef WEFT_KERNELS_VECTOR_MATH_H
#else
#define WEFT_KERNELS_VECTOR_MATH_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "weft/kernels/activation.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

/// e^x to 1 unit in the last place; infinity above 88.7, 0 below -104, NaN for NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V exp_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  // Highway's function is defined up to 104 and treats NaN as a small number.
  const V value = hn::Exp(d, hn::Min(x, hn::Set(d, 104.0F)));
  return hn::IfThenElse(hn::IsNaN(x), x, value);
}

/// 1 / (1 + e^-x)
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V sigmoid_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp_of(d, hn::Neg(x))));
}

/// tanh to 4 units in the last place; NaN for NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V tanh_of(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
}

/// The normal distribution Phi(x) to 2e-7, by erf's approximation 7.1.26 of Abramowitz and Stegun,
/// Handbook of Mathematical Functions. A small result is not computed as 1 minus a number.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V normal_cdf(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F);
  const V z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752F));
  const V t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3275911F), z, one));
  V sum = hn::Set(d, 1.061405429F);
  sum = hn::MulAdd(sum, t, hn::Set(d, -1.453152027F));
  sum = hn::MulAdd(sum, t, hn::Set(d, 1.421413741F));
  sum = hn::MulAdd(sum, t, hn::Set(d, -0.284496736F));
  sum = hn::MulAdd(sum, t, hn::Set(d, 0.254829592F));
  const V square = hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5F));
  const V tail = hn::Mul(hn::Mul(hn::Mul(sum, t), hn::Set(d, 0.5F)), exp_of(d, square));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V xielu_of(D d, const XieluSpec& spec, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V slope = hn::Set(d, spec.slope);
  const V above = hn::Mul(x, hn::MulAdd(hn::Set(d, spec.positive), x, slope));
  const V curve = hn::Sub(hn::Expm1(d, hn::Min(x, hn::Set(d, spec.bound))), x);
  const V below = hn::MulAdd(hn::Set(d, spec.negative), curve, hn::Mul(slope, x));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), above, below);
}

/// `xielu` is used only by that activation.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE HWY_ATTR V activate(D d, Activation activation, const XieluSpec& xielu, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return hn::Mul(x, sigmoid_of(d, x));
    case Activation::kGelu:
      return hn::Mul(x, normal_cdf(d, x));
    case Activation::kGeluTanh: {
      // 0.5 (1 + tanh u) is the sigmoid of 2u; here 2 sqrt(2 / pi) (x + 0.044715 x^3).
      const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715F), hn::Set(d, 1.0F));
      const V twice = hn::Mul(hn::Mul(x, hn::Set(d, 1.5957691216057308F)), cubic);
      return hn::Mul(x, sigmoid_of(d, twice));
    }
    case Activation::kGeluQuick:
      return hn::Mul(x, sigmoid_of(d, hn::Mul(x, hn::Set(d, 1.702F))));
    case Activation::kRelu:
      return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
    case Activation::kReluSquared: {
      const V positive = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
      return hn::Mul(positive, positive);
    }
    case Activation::kSigmoid:
      return sigmoid_of(d, x);
    case Activation::kTanh:
      return tanh_of(d, x);
    case Activation::kSoftplus: {
      const V positive = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
      return hn::Add(positive, hn::Log1p(d, exp_of(d, hn::Neg(hn::Abs(x)))));
    }
    case Activation::kXielu:
      return xielu_of(d, xielu, x);
  }
  return x;
}

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
