// Transposes sixteen rows. The include guard is Highway's: each instruction set reads the file
// once.
#if defined(WEFT_KERNELS_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_TRANSPOSE_INL_H
#undef WEFT_KERNELS_TRANSPOSE_INL_H
#else
#define WEFT_KERNELS_TRANSPOSE_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kTransposed = 16;

#if HWY_TARGET == HWY_AVX3
using TransposedRow = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::FixedTag<std::uint32_t, 16>>;

/// Transposes four rows in blocks of four words: block b of made[j] has word j of each row's block.
HWY_ATTR HWY_INLINE void transpose_words(const TransposedRow* rows, TransposedRow* made) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<std::uint32_t, 16> d;
  const hn::Repartition<std::uint64_t, decltype(d)> pairs;
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, rows[0], rows[1]));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, rows[2], rows[3]));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[2], rows[3]));
  made[0] = hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low));
  made[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low));
  made[2] = hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high));
  made[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high));
}

/// Stores block b of each of the four vectors as one vector at to + b * 4 * 16.
HWY_ATTR HWY_INLINE void transpose_blocks(TransposedRow a, TransposedRow b, TransposedRow c,
                                          TransposedRow e, std::uint32_t* HWY_RESTRICT to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<std::uint32_t, 16> d;
  const auto even = [](auto one, auto other)
                        HWY_ATTR { return hn::OddEvenBlocks(hn::SwapAdjacentBlocks(other), one); };
  const auto odd = [](auto one, auto other)
                       HWY_ATTR { return hn::OddEvenBlocks(other, hn::SwapAdjacentBlocks(one)); };
  constexpr std::int64_t kStep = 4 * kTransposed;
  hn::StoreU(hn::ConcatLowerLower(d, even(c, e), even(a, b)), d, to);
  hn::StoreU(hn::ConcatLowerLower(d, odd(c, e), odd(a, b)), d, to + kStep);
  hn::StoreU(hn::ConcatUpperUpper(d, even(c, e), even(a, b)), d, to + 2 * kStep);
  hn::StoreU(hn::ConcatUpperUpper(d, odd(c, e), odd(a, b)), d, to + 3 * kStep);
}
#endif

/// Transposes 16 rows of 32-bit words to `words` rows of 16. row_of(lane) returns where a row
/// begins, at any address. Stores go through the caches: the system has just zeroed a weight's
/// memory, so its lines are cached.
template <class RowOf>
HWY_ATTR void transpose_sixteen(const RowOf& row_of, std::int64_t words,
                                std::uint32_t* HWY_RESTRICT to) {
  std::int64_t word = 0;
#if HWY_TARGET == HWY_AVX3
  for (; word + kTransposed <= words; word += kTransposed) {
    const hwy::HWY_NAMESPACE::FixedTag<std::uint8_t, 64> line;
    const hwy::HWY_NAMESPACE::FixedTag<std::uint32_t, 16> wide;
    TransposedRow made[kTransposed];
    for (std::int64_t lane = 0; lane < kTransposed; lane += 4) {
      TransposedRow four[4];
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::byte* from = row_of(lane + i) + 4 * word;
        four[i] = hwy::HWY_NAMESPACE::BitCast(
            wide, hwy::HWY_NAMESPACE::LoadU(line, reinterpret_cast<const std::uint8_t*>(from)));
      }
      transpose_words(four, made + lane);
    }
    for (std::int64_t j = 0; j < 4; ++j) {
      transpose_blocks(made[j], made[4 + j], made[8 + j], made[12 + j],
                       to + (word + j) * kTransposed);
    }
  }
#endif
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
        hn::StoreU(hn::BitCast(d, turned), d, out + row * kTransposed);
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

/// Transposes 16 rows that are `stride` words apart.
HWY_ATTR inline void transpose_sixteen(const std::uint32_t* HWY_RESTRICT rows, std::int64_t stride,
                                       std::int64_t words, std::uint32_t* HWY_RESTRICT to) {
  const auto row_of = [&](std::int64_t lane) HWY_ATTR {
    return reinterpret_cast<const std::byte*>(rows + lane * stride);
  };
  transpose_sixteen(row_of, words, to);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_TRANSPOSE_INL_H
