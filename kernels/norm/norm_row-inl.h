// The moments of a row, and its normalization. For norm_cpu.cc and rotary_cpu.cc. The include guard
// is Highway's: each instruction set reads the file once.
#if defined(WEFT_KERNELS_NORM_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_NORM_ROW_INL_H
#undef WEFT_KERNELS_NORM_ROW_INL_H
#else
#define WEFT_KERNELS_NORM_ROW_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "weft/kernels/norm/norm_spec.h"
#include "weft/kernels/simd/simd_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// The number of parallel sums: they hide the latency of additions, and each sum rounds less often
/// than a single sum would.
constexpr std::size_t kRunningSums = std::max<std::size_t>(4, 16 / hn::MaxLanes(FloatTag()));

/// Returns the sum of term(vector at i) over [0, n), lane by lane and then over lanes. The result
/// depends on the numbers and n alone.
template <class Term>
HWY_INLINE float sum_of(std::size_t n, const float* from, Term term) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  FloatVec sums[kRunningSums];
  for (FloatVec& sum : sums) sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kRunningSums * lanes <= n; i += kRunningSums * lanes) {
    for (std::size_t s = 0; s < kRunningSums; ++s) {
      sums[s] = hn::Add(sums[s], term(hn::LoadU(d, from + i + s * lanes)));
    }
  }
  for (; i < n; i += lanes) {
    const std::size_t left = n - i;
    const FloatVec value = term(load_first(from + i, left));
    sums[0] =
        hn::Add(sums[0], left >= lanes ? value : hn::IfThenElseZero(hn::FirstN(d, left), value));
  }
  for (std::size_t half = kRunningSums / 2; half > 0; half /= 2) {
    for (std::size_t s = 0; s < half; ++s) sums[s] = hn::Add(sums[s], sums[s + half]);
  }
  return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

struct Moments {
  float mean = 0;
  float inverse = 1;  ///< 1 / deviation
};

/// Computes the variance in a second pass, from differences to the mean, since sums of squares
/// would cancel.
HWY_INLINE Moments moments_of(const NormSpec& spec, const float* row, std::size_t n) {
  const FloatTag d;
  const auto count = static_cast<float>(n);
  float mean = 0;
  if (spec.kind == NormKind::kLayer) {
    mean = sum_of(n, row, [](FloatVec value) HWY_ATTR { return value; }) / count;
  }
  const FloatVec middle = hn::Set(d, mean);
  const float squares = sum_of(n, row, [middle](FloatVec value) HWY_ATTR {
    const FloatVec difference = hn::Sub(value, middle);
    return hn::Mul(difference, difference);
  });
  return {mean, 1.0F / std::sqrt(squares / count + spec.eps)};
}

/// The weight and bias of a normalized row.
struct Affine {
  const float* weight = nullptr;
  const float* bias = nullptr;
  float offset = 0;
  float scale = 1;
  const float* residual = nullptr;
  float sum_scale = 1;
};

HWY_INLINE void apply_norm(const Moments& moments, const Affine& affine, const float* in,
                           float* out, std::size_t n) {
  const FloatTag d;
  const FloatVec mean = hn::Set(d, moments.mean);
  const FloatVec inverse = hn::Set(d, moments.inverse);
  const FloatVec offset = hn::Set(d, affine.offset);
  const FloatVec scale = hn::Set(d, affine.scale);
  const FloatVec sum_scale = hn::Set(d, affine.sum_scale);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const std::size_t left = n - i;
    FloatVec value = hn::Mul(hn::Sub(load_first(in + i, left), mean), inverse);
    if (affine.weight != nullptr) {
      value = hn::Mul(value, hn::Add(load_first(affine.weight + i, left), offset));
    }
    if (affine.bias != nullptr) value = hn::Add(value, load_first(affine.bias + i, left));
    value = hn::Mul(value, scale);
    if (affine.residual != nullptr) value = hn::Add(value, load_first(affine.residual + i, left));
    store_first(hn::Mul(value, sum_scale), out + i, left);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_NORM_ROW_INL_H
