// Loads numbers of adapters' pairs as float32. Included once for each target of a kernel, like
// Highway's own -inl.h files.
#if defined(WEFT_KERNELS_ADAPTER_NUMBER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_ADAPTER_NUMBER_INL_H
#undef WEFT_KERNELS_ADAPTER_NUMBER_INL_H
#else
#define WEFT_KERNELS_ADAPTER_NUMBER_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "weft/kernels/adapter/adapter_spec.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, kAdapterPanel> kPairFloats;
using PairFloats = hn::Vec<decltype(kPairFloats)>;
constexpr std::int64_t kPairWidth = static_cast<std::int64_t>(hn::MaxLanes(kPairFloats));

HWY_INLINE HWY_ATTR PairFloats load_pair(const float* from) { return hn::LoadU(kPairFloats, from); }

/// Loads bf16 numbers.
HWY_INLINE HWY_ATTR PairFloats load_pair(const std::uint16_t* from) {
  const hn::RebindToUnsigned<decltype(kPairFloats)> words;
  const hn::Rebind<std::uint16_t, decltype(kPairFloats)> halves;
  const auto bits = hn::PromoteTo(words, hn::LoadU(halves, from));
  return hn::BitCast(kPairFloats, hn::ShiftLeft<16>(bits));
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_ADAPTER_NUMBER_INL_H
