// exp for the softmax. The include guard is Highway's: each instruction set reads the file once.
#if defined(WEFT_KERNELS_SOFTMAX_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SOFTMAX_MATH_INL_H
#undef WEFT_KERNELS_SOFTMAX_MATH_INL_H
#else
#define WEFT_KERNELS_SOFTMAX_MATH_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// e^x for x <= 0, within 2 units in the last place; exactly 0 below the smallest normal number and
/// at -inf. NaN stays NaN, so that a broken model is noticed; Highway's Exp would return 0.
/// Range reduction of Cody and Waite, polynomial of Cephes' expf.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V exp_of_negative(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  // A sum with it has no fraction bits left; its low bits are the integer.
  const V round = hn::Set(d, 0x1.8p23F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), round);
  const V n = hn::Sub(shifted, round);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::MulAdd(n, hn::Set(d, 2.12194440e-4F), r);
  V y = hn::Set(d, 1.9875691500e-4F);
  y = hn::MulAdd(y, r, hn::Set(d, 1.3981999507e-3F));
  y = hn::MulAdd(y, r, hn::Set(d, 8.3334519073e-3F));
  y = hn::MulAdd(y, r, hn::Set(d, 4.1665795894e-2F));
  y = hn::MulAdd(y, r, hn::Set(d, 1.6666665459e-1F));
  y = hn::MulAdd(y, r, hn::Set(d, 5.0000001201e-1F));
  y = hn::Add(hn::MulAdd(y, hn::Mul(r, r), r), hn::Set(d, 1.0F));
  const auto power = hn::Add(hn::ShiftLeft<23>(hn::BitCast(du, shifted)), hn::Set(du, 0x3f800000));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3365F)), hn::Mul(y, hn::BitCast(d, power)));
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SOFTMAX_MATH_INL_H
