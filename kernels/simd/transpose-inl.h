// Sixteen rows turned into columns. The guard is Highway's: the file is read once for each
// instruction set.
#if defined(WEFT_KERNELS_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_TRANSPOSE_INL_H
#undef WEFT_KERNELS_TRANSPOSE_INL_H
#else
#define WEFT_KERNELS_TRANSPOSE_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kTransposed = 16;

/// 16 rows of 32-bit words become `words` rows of 16. `kPast`: the caches are passed by, since a
/// weight is read long after it was packed and is larger than they are.
template <bool kPast>
HWY_ATTR void transpose_sixteen(const std::uint32_t* HWY_RESTRICT rows, std::int64_t stride,
                                std::int64_t words, std::uint32_t* HWY_RESTRICT to) {
  std::int64_t word = 0;
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::Repartition<std::uint64_t, decltype(d)> pairs;
  for (; word + 4 <= words; word += 4) {
    for (std::int64_t lane = 0; lane < kTransposed; lane += 4) {
      const std::uint32_t* at = rows + lane * stride + word;
      const auto a = hn::LoadU(d, at);
      const auto b = hn::LoadU(d, at + stride);
      const auto c = hn::LoadU(d, at + 2 * stride);
      const auto e = hn::LoadU(d, at + 3 * stride);
      const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
      const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
      const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
      const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
      std::uint32_t* out = to + word * kTransposed + lane;
      const auto put = [&](auto turned, std::int64_t row) HWY_ATTR {
        if constexpr (kPast) {
          hn::Stream(hn::BitCast(d, turned), d, out + row * kTransposed);
        } else {
          hn::Store(hn::BitCast(d, turned), d, out + row * kTransposed);
        }
      };
      put(hn::InterleaveLower(pairs, ab_low, ce_low), 0);
      put(hn::InterleaveUpper(pairs, ab_low, ce_low), 1);
      put(hn::InterleaveLower(pairs, ab_high, ce_high), 2);
      put(hn::InterleaveUpper(pairs, ab_high, ce_high), 3);
    }
  }
#endif
  for (; word < words; ++word) {
    for (std::int64_t lane = 0; lane < kTransposed; ++lane) {
      to[word * kTransposed + lane] = rows[lane * stride + word];
    }
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_TRANSPOSE_INL_H
