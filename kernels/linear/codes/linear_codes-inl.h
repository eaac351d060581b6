// Products of codes of weights and rows in int8 (linear_codes.h). For linear_cpu.cc. The include
// guard is Highway's: each instruction set reads the file once.
#if defined(WEFT_KERNELS_LINEAR_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LINEAR_CODES_INL_H
#undef WEFT_KERNELS_LINEAR_CODES_INL_H
#else
#define WEFT_KERNELS_LINEAR_CODES_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/codes/linear_round-inl.h"
#include "weft/kernels/linear/codes/linear_unpack-inl.h"
#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/unroll.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr hn::Repartition<std::int16_t, decltype(kFloats)> kShorts;
using WordVec = hn::Vec<decltype(kWords)>;
using IntegerVec = hn::Vec<decltype(kIntegers)>;
using ShortVec = hn::Vec<decltype(kShorts)>;

/// Makes the compiler add a sum in the written order. GCC would add as a tree, which takes more
/// registers than there are.
template <class Vec>
HWY_INLINE void keep_order([[maybe_unused]] Vec& sum) {
#if HWY_TARGET == HWY_AVX2
  asm("" : "+x"(sum.raw));
#elif HWY_TARGET == HWY_AVX3
  asm("" : "+v"(sum.raw));
#endif
}

/// Which terms, multiplied by the sum of the row's codes, are added to a sum of products of codes.
struct CodedForm {
  bool has_offset;
  bool has_minimum;
};

/// Turns sums of products into numbers, for one vector of outputs and one group of codes.
template <bool kIsWide, CodedForm kForm>
class CodedScale {
 public:
  using Row = PairedRow<kIsWide>;

  /// `index` counts the panel's groups. `sum` is the word of a row that has the sum of its codes.
  HWY_INLINE CodedScale(const CodedPanel& coded, std::int64_t index, int vector, std::int64_t sum)
      : scale_(hn::Load(kFloats, coded.scales + index * kOutputs + vector * kWidth)),
        moved_(hn::Set(kFloats, static_cast<float>((kIsWide ? 128 : 0) - coded.offset))),
        sum_(sum) {
    if constexpr (kForm.has_minimum) {
      minimum_ = hn::Load(kFloats, coded.minimums + index * kOutputs + vector * kWidth);
    } else {
      minimum_ = hn::Zero(kFloats);
    }
  }

  /// Adds a group's total to `to`; `row` is the row's block.
  HWY_INLINE void add(IntegerVec total, const std::uint32_t* row, float* to) const {
    const auto number = [&](std::int64_t word)
                            HWY_ATTR { return hn::Set(kFloats, std::bit_cast<float>(row[word])); };
    Floats value = hn::ConvertTo(kFloats, total);
    // The integers are below 2^24, so they convert exactly.
    if (kForm.has_offset) value = hn::MulAdd(number(sum_), moved_, value);
    value = hn::Mul(value, scale_);
    if (kForm.has_minimum) value = hn::MulAdd(number(sum_), minimum_, value);
    hn::Store(hn::MulAdd(number(Row::kScaleWord), value, hn::Load(kFloats, to)), kFloats, to);
  }

 private:
  Floats scale_;
  Floats minimum_;
  Floats moved_;
  std::int64_t sum_;
};

/// Calls use(rows, group, index) for all groups of codes of a tile, with the rows' block and the
/// group's index in the block and in the panel. First sets the sums of the rows to zero if needed.
template <bool kIsWide, int kGroupWords, class Use>
HWY_INLINE void for_coded_groups(const CodedPanel& coded, std::int64_t rows, const LinearTile& tile,
                                 const Use& use) {
  constexpr std::int64_t kGroups = CodedPlan::kCodeWords / kGroupWords;
  for (std::int64_t r = 0; tile.first && r < rows; ++r) {
    for (int v = 0; v < kPanelVectors; ++v) {
      hn::Store(hn::Zero(kFloats), kFloats, tile.sums + r * LinearPlan::kGroupOutputs + v * kWidth);
    }
  }
  const std::int64_t blocks = tile.words / PairedRow<kIsWide>::kBlockWords;
  CodedAhead ahead(coded, tile.fetches, blocks);
  for (std::int64_t block = 0; block < blocks; ++block) {
    ahead.fetch();
    const std::uint32_t* rows_at = tile.rows + block * PairedRow<kIsWide>::kBlockWords * rows;
    for (std::int64_t group = 0; group < kGroups; ++group) {
      use(rows_at, group, block * kGroups + group);
    }
  }
}

/// The word of a row that has the sum of a group's codes.
template <bool kIsWide, int kGroupWords>
constexpr std::int64_t sum_word(std::int64_t group) {
  return PairedRow<kIsWide>::kSumWord + (kGroupWords == CodedPlan::kCodeWords ? 2 : group);
}

/// The sum of products of codes for each output of a vector. Bytes are int8 and are multiplied as
/// int16, bytes at even and at odd places separately.
class WideSum {
 public:
  static constexpr bool kIsWide = true;
  struct Bytes {
    // NOLINTNEXTLINE(modernize-use-equals-default): see Words
    HWY_INLINE Bytes() {}
    HWY_INLINE Bytes(ShortVec evens, ShortVec odds) : even(evens), odd(odds) {}

    ShortVec even;
    ShortVec odd;
  };
  HWY_INLINE WideSum() : low_(hn::Zero(kIntegers)), high_(hn::Zero(kIntegers)) {}

  static HWY_INLINE Bytes take(WordVec words) {
    const auto pairs = hn::BitCast(kShorts, words);
    return {hn::ShiftRight<8>(hn::ShiftLeft<8>(pairs)), hn::ShiftRight<8>(pairs)};
  }
  /// Returns word `word` of a row's block in all lanes.
  static HWY_INLINE Bytes broadcast(const std::uint32_t* row, std::int64_t word) {
    return {hn::BitCast(kShorts, hn::Set(kWords, row[2 * word])),
            hn::BitCast(kShorts, hn::Set(kWords, row[2 * word + 1]))};
  }

  HWY_INLINE void add(const Bytes& weights, const Bytes& inputs, int /*word*/) {
    low_ = hn::ReorderWidenMulAccumulate(kIntegers, weights.even, inputs.even, low_, high_);
    keep_order(low_);
    low_ = hn::ReorderWidenMulAccumulate(kIntegers, weights.odd, inputs.odd, low_, high_);
    keep_order(low_);
  }
  [[nodiscard]] HWY_INLINE IntegerVec total() const {
    return hn::RearrangeToOddPlusEven(low_, high_);
  }

 private:
  IntegerVec low_;
  IntegerVec high_;
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// As WideSum for u8 codes up to 63: VPMADDUBSW adds two products in int16, and int16 holds the
/// sum of kInterval such results.
template <int kInterval>
class NarrowSum {
 public:
  static constexpr bool kIsWide = false;
  using Bytes = WordVec;
  HWY_INLINE NarrowSum() : pairs_(hn::Zero(kShorts)), total_(hn::Zero(kIntegers)) {}

  static HWY_INLINE Bytes take(WordVec words) { return words; }
  static HWY_INLINE Bytes broadcast(const std::uint32_t* row, std::int64_t word) {
    return hn::Set(kWords, row[word]);
  }

  /// `word` counts from the group's first.
  HWY_INLINE void add(Bytes weights, Bytes inputs, int word) {
#if HWY_TARGET == HWY_AVX2
    const ShortVec pairs{_mm256_maddubs_epi16(weights.raw, inputs.raw)};
#else
    const ShortVec pairs{_mm512_maddubs_epi16(weights.raw, inputs.raw)};
#endif
    pairs_ = word % kInterval == 0 ? pairs : hn::Add(pairs_, pairs);
    keep_order(pairs_);
    if ((word + 1) % kInterval != 0) return;
    IntegerVec none = hn::Zero(kIntegers);
    const IntegerVec sum =
        hn::ReorderWidenMulAccumulate(kIntegers, pairs_, hn::Set(kShorts, 1), none, none);
    total_ = word < kInterval ? sum : hn::Add(total_, sum);
  }
  [[nodiscard]] HWY_INLINE IntegerVec total() const { return total_; }

 private:
  ShortVec pairs_;
  IntegerVec total_;
};

#endif

/// How many words' products of codes up to `largest` and int8 an int16 can sum.
constexpr int interval_of(int largest) {
  return std::numeric_limits<std::int16_t>::max() / (2 * 127 * largest);
}
static_assert(interval_of(15) == 8 && interval_of(31) == 4 && interval_of(63) == 2);

/// The most rows of a tile: 8 sums, which leave half of AVX2's 16 registers for the operands.
constexpr std::int64_t kPairedTileRows = 4;

/// Multiplies one panel by kRows rows.
template <class Sum, int kGroupWords, CodedForm kForm, int kRows>
HWY_ATTR void multiply_codes(const CodedPanel& coded, const LinearTile& tile) {
  using Row = PairedRow<Sum::kIsWide>;
  const auto* codes = reinterpret_cast<const std::uint32_t*>(coded.codes);
  // Unsigned codes become int8 by subtracting 128.
  const auto flip = hn::Set(kWords, coded.is_signed ? 0U : 0x80808080U);
  const auto add = [&](const std::uint32_t* rows, std::int64_t group, std::int64_t index) HWY_ATTR {
    Sum products[kRows][kPanelVectors];
    WEFT_UNROLL
    for (int word = 0; word < kGroupWords; ++word, codes += kOutputs) {
      typename Sum::Bytes weights[kPanelVectors];
      WEFT_UNROLL
      for (int v = 0; v < kPanelVectors; ++v) {
        const auto own = hn::Load(kWords, codes + v * kWidth);
        weights[v] = Sum::take(Sum::kIsWide ? hn::Xor(own, flip) : own);
      }
      WEFT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const auto inputs = Sum::broadcast(rows + r * Row::kBlockWords, group * kGroupWords + word);
        WEFT_UNROLL
        for (int v = 0; v < kPanelVectors; ++v) products[r][v].add(weights[v], inputs, word);
      }
    }
    WEFT_UNROLL
    for (int v = 0; v < kPanelVectors; ++v) {
      const CodedScale<Sum::kIsWide, kForm> scale(coded, index, v,
                                                  sum_word<Sum::kIsWide, kGroupWords>(group));
      WEFT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        scale.add(products[r][v].total(), rows + r * Row::kBlockWords,
                  tile.sums + r * LinearPlan::kGroupOutputs + v * kWidth);
      }
    }
  };
  for_coded_groups<Sum::kIsWide, kGroupWords>(coded, kRows, tile, add);
}

using MultiplyCodes = void (*)(const CodedPanel&, const LinearTile&);

template <class Sum, int kGroupWords, CodedForm kForm>
MultiplyCodes multiply_codes_of(std::int64_t rows) {
  static constexpr auto kTable = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<MultiplyCodes, sizeof...(kIndex)>{
        multiply_codes<Sum, kGroupWords, kForm, static_cast<int>(kIndex) + 1>...};
  }(std::make_index_sequence<kPairedTileRows>());
  return kTable[static_cast<std::size_t>(rows - 1)];
}

template <class Sum, int kGroupWords>
MultiplyCodes find_multiply_codes(const CodedPanel& coded, std::int64_t rows) {
  if constexpr (Sum::kIsWide) {
    if (coded.minimums != nullptr) {
      return multiply_codes_of<Sum, kGroupWords, CodedForm{true, true}>(rows);
    }
    if (coded.offset == 128) {
      return multiply_codes_of<Sum, kGroupWords, CodedForm{false, false}>(rows);
    }
  } else if (coded.minimums != nullptr) {
    return coded.offset == 0 ? multiply_codes_of<Sum, kGroupWords, CodedForm{false, true}>(rows)
                             : multiply_codes_of<Sum, kGroupWords, CodedForm{true, true}>(rows);
  }
  return multiply_codes_of<Sum, kGroupWords, CodedForm{true, false}>(rows);
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

template <int kInterval>
MultiplyCodes find_multiply_narrow(const CodedPanel& coded, std::int64_t rows) {
  if (coded.group_words == 8) return find_multiply_codes<NarrowSum<kInterval>, 8>(coded, rows);
  return find_multiply_codes<NarrowSum<std::min(kInterval, 4)>, 4>(coded, rows);
}

#endif

/// Multiplies 1 to kPairedTileRows rows, packed by pack_paired_row<kIsWide>, by one panel. Reads
/// rows, words, sums and first of the tile.
template <bool kIsWide>
void multiply_paired_tile(std::int64_t rows, const CodedPanel& coded, const LinearTile& tile) {
  MultiplyCodes multiply = nullptr;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (!kIsWide) {
    const int interval = interval_of(coded.largest);
    multiply = interval >= 8   ? find_multiply_narrow<8>(coded, rows)
               : interval >= 4 ? find_multiply_narrow<4>(coded, rows)
                               : find_multiply_narrow<2>(coded, rows);
  }
#endif
  if constexpr (kIsWide) {
    multiply = coded.group_words == 8 ? find_multiply_codes<WideSum, 8>(coded, rows)
                                      : find_multiply_codes<WideSum, 4>(coded, rows);
  }
  multiply(coded, tile);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // WEFT_KERNELS_LINEAR_CODES_INL_H
