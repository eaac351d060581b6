// Loads and stores parts of vectors. The include guard is Highway's (read once for each target).
#if defined(WEFT_KERNELS_SIMD_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_ROW_INL_H
#undef WEFT_KERNELS_SIMD_ROW_INL_H
#else
#define WEFT_KERNELS_SIMD_ROW_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

/// Loads the first `count` lanes, the others zero, without reading beyond them.
HWY_INLINE FloatVec load_first(const float* from, std::size_t count) {
  const FloatTag d;
  if (count >= hn::Lanes(d)) return hn::LoadU(d, from);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  // Highway's masked access may read and write whole vectors.
  HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

/// Stores the first `count` lanes without touching the memory beyond them, which may belong to
/// another thread.
HWY_INLINE void store_first(FloatVec value, float* to, std::size_t count) {
  const FloatTag d;
  if (count >= hn::Lanes(d)) {
    hn::StoreU(value, d, to);
    return;
  }
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  hn::BlendedStore(value, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(value, d, lanes);
  for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_ROW_INL_H
