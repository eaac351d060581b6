// Parts of rows as vectors. The guard is Highway's: the file is read once for each instruction set.
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

/// The first `count` lanes, the others zero, when there are not enough for a vector.
HWY_INLINE FloatVec load_first(const float* from, std::size_t count) {
  const FloatTag d;
  if (count >= hn::Lanes(d)) return hn::LoadU(d, from);
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
}

HWY_INLINE void store_first(FloatVec value, float* to, std::size_t count) {
  const FloatTag d;
  if (count >= hn::Lanes(d)) {
    hn::StoreU(value, d, to);
  } else {
    hn::BlendedStore(value, hn::FirstN(d, count), d, to);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_SIMD_ROW_INL_H
