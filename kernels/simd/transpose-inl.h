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

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kTransposed = 16;

/// 16 rows of 32-bit words become `words` rows of 16. row_of(lane) says where a row begins, at any
/// address. `kPast`: the caches are passed by, since a weight is read long after it was packed and
/// is larger than they are.
template <bool kPast, class RowOf>
HWY_ATTR void transpose_sixteen(const RowOf& row_of, std::int64_t words,
                                std::uint32_t* HWY_RESTRICT to) {
  std::int64_t word = 0;
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<std::uint32_t, 4> d;
  const hn::Repartition<std::uint64_t, decltype(d)> pairs;
  const hn::Repartition<std::uint8_t, decltype(d)> bytes;
  const auto load = [&](std::int64_t lane, std::int64_t at) HWY_ATTR {
    const std::byte* from = row_of(lane) + 4 * at;
    return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
  };
  for (; word + 4 <= words; word += 4) {
    for (std::int64_t lane = 0; lane < kTransposed; lane += 4) {
      const auto a = load(lane, word);
      const auto b = load(lane + 1, word);
      const auto c = load(lane + 2, word);
      const auto e = load(lane + 3, word);
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
      std::memcpy(to + word * kTransposed + lane, row_of(lane) + 4 * word, 4);
    }
  }
}

/// Of rows that are `stride` words apart.
template <bool kPast>
HWY_ATTR void transpose_sixteen(const std::uint32_t* HWY_RESTRICT rows, std::int64_t stride,
                                std::int64_t words, std::uint32_t* HWY_RESTRICT to) {
  const auto row_of = [&](std::int64_t lane) HWY_ATTR {
    return reinterpret_cast<const std::byte*>(rows + lane * stride);
  };
  transpose_sixteen<kPast>(row_of, words, to);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_TRANSPOSE_INL_H
