// Products of codes of weights and rows in int8 (linear_codes.h). For linear_cpu.cc. The guard is
// Highway's: the file is read once for each instruction set.
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
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/codes/linear_unpack-inl.h"
#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/unroll.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// A block of a row in int8: its codes and the sum of each half of them.
struct RoundedBlock {
  std::array<std::uint32_t, CodedPlan::kCodeWords> words{};
  std::array<std::int32_t, 2> sums{};
  float scale = 0;
};

constexpr int kBlockVectors = static_cast<int>(CodedPlan::kBlockInputs) / kWidth;
static_assert(kBlockVectors % 2 == 0);

HWY_INLINE RoundedBlock round_block(const float* row) {
  constexpr std::int32_t kInfinity = 0x7f800000;
  // A block of smaller numbers is zero: 127 over its largest would be infinite.
  constexpr float kLeast = 1e-36F;
  // Added to a number, it leaves the nearest integer in the lowest bits, ties to even.
  constexpr float kRound = 0x1.8p23F;
  RoundedBlock block;
  Floats numbers[kBlockVectors];
  auto most_bits = hn::Zero(kIntegers);
  WEFT_UNROLL
  for (int v = 0; v < kBlockVectors; ++v) {
    numbers[v] = hn::LoadU(kFloats, row + v * kWidth);
    most_bits = hn::Max(most_bits, hn::BitCast(kIntegers, hn::Abs(numbers[v])));
  }
  const std::int32_t largest = hn::GetLane(hn::MaxOfLanes(kIntegers, most_bits));
  const auto most = std::bit_cast<float>(largest);
  if (largest >= kInfinity) {
    block.scale = std::numeric_limits<float>::quiet_NaN();
    return block;
  }
  if (most < kLeast) return block;
  block.scale = most / 127;
  const Floats factor = hn::Set(kFloats, 127 / most);
  const auto bits_of_round = hn::Set(kIntegers, std::bit_cast<std::int32_t>(kRound));
  auto* codes = reinterpret_cast<std::int8_t*>(block.words.data());
  for (int half = 0; half < 2; ++half) {
    auto sum = hn::Zero(kIntegers);
    WEFT_UNROLL
    for (int i = 0; i < kBlockVectors / 2; ++i) {
      const int v = half * kBlockVectors / 2 + i;
      const Floats moved = hn::Add(hn::Mul(numbers[v], factor), hn::Set(kFloats, kRound));
      const auto own = hn::Sub(hn::BitCast(kIntegers, moved), bits_of_round);
      sum = hn::Add(sum, own);
      const hn::Rebind<std::int8_t, decltype(kIntegers)> bytes;
      hn::StoreU(hn::DemoteTo(bytes, own), bytes, codes + v * kWidth);
    }
    block.sums[static_cast<std::size_t>(half)] = hn::GetLane(hn::SumOfLanes(kIntegers, sum));
  }
  return block;
}

/// Rounds a row and writes its words `stride` words apart. A block with a number that is not finite
/// gets the scale NaN.
HWY_ATTR void pack_coded_row(const float* row, std::int64_t inputs, std::uint32_t* to,
                             std::int64_t stride) {
  for (std::int64_t i = 0; i < inputs;
       i += CodedPlan::kBlockInputs, to += CodedPlan::kBlockWords * stride) {
    const RoundedBlock block = round_block(row + i);
    for (std::size_t word = 0; word < block.words.size(); ++word) {
      to[static_cast<std::int64_t>(word) * stride] = block.words[word];
    }
    to[CodedPlan::kScaleWord * stride] = std::bit_cast<std::uint32_t>(block.scale);
    to[CodedPlan::kSumWord * stride] = static_cast<std::uint32_t>(block.sums[0]);
    to[(CodedPlan::kSumWord + 1) * stride] = static_cast<std::uint32_t>(block.sums[1]);
  }
}

constexpr hn::Repartition<std::int16_t, decltype(kFloats)> kShorts;
using WordVec = hn::Vec<decltype(kWords)>;
using IntegerVec = hn::Vec<decltype(kIntegers)>;
using ShortVec = hn::Vec<decltype(kShorts)>;

/// For each output of a vector the sum of products of codes. Bytes are taken as int8 and multiplied
/// as int16, those at even places and those at odd ones apart.
class WideSum {
 public:
  struct Bytes {
    ShortVec even;
    ShortVec odd;
  };
  HWY_INLINE WideSum() : low_(hn::Zero(kIntegers)), high_(hn::Zero(kIntegers)) {}

  static HWY_INLINE Bytes take(WordVec words) {
    const auto pairs = hn::BitCast(kShorts, words);
    return {hn::ShiftRight<8>(hn::ShiftLeft<8>(pairs)), hn::ShiftRight<8>(pairs)};
  }

  HWY_INLINE void add(const Bytes& weights, const Bytes& inputs) {
    low_ = hn::ReorderWidenMulAccumulate(kIntegers, weights.even, inputs.even, low_, high_);
    low_ = hn::ReorderWidenMulAccumulate(kIntegers, weights.odd, inputs.odd, low_, high_);
  }
  HWY_INLINE void end_interval() {}
  [[nodiscard]] HWY_INLINE IntegerVec total() const {
    return hn::RearrangeToOddPlusEven(low_, high_);
  }

 private:
  IntegerVec low_;
  IntegerVec high_;
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// The same for codes up to 63: VPMADDUBSW adds two products in int16, and int16 holds as many of
/// such sums as an interval has words. Weights are taken as u8.
class NarrowSum {
 public:
  using Bytes = WordVec;
  HWY_INLINE NarrowSum() : pairs_(hn::Zero(kShorts)), total_(hn::Zero(kIntegers)) {}

  static HWY_INLINE Bytes take(WordVec words) { return words; }

  HWY_INLINE void add(Bytes weights, Bytes inputs) {
#if HWY_TARGET == HWY_AVX2
    const ShortVec pairs{_mm256_maddubs_epi16(weights.raw, inputs.raw)};
#else
    const ShortVec pairs{_mm512_maddubs_epi16(weights.raw, inputs.raw)};
#endif
    pairs_ = hn::Add(pairs_, pairs);
  }
  HWY_INLINE void end_interval() {
    IntegerVec none = hn::Zero(kIntegers);
    total_ = hn::ReorderWidenMulAccumulate(kIntegers, pairs_, hn::Set(kShorts, 1), total_, none);
    pairs_ = hn::Zero(kShorts);
  }
  [[nodiscard]] HWY_INLINE IntegerVec total() const { return total_; }

 private:
  ShortVec pairs_;
  IntegerVec total_;
};

#else

using NarrowSum = WideSum;

#endif

/// Words whose products of codes up to `largest` by int8 an int16 can hold the sums of.
constexpr int interval_of(int largest) {
  return std::numeric_limits<std::int16_t>::max() / (2 * 127 * largest);
}
static_assert(interval_of(15) == 8 && interval_of(31) == 4 && interval_of(63) == 2);

/// Most rows of a tile: 8 sums, which leaves half of AVX2's 16 registers for what they are made of.
constexpr std::int64_t kCodedTileRows = 4;

/// One panel. A scale is for kGroupWords words; kInterval of them may be added as int16, none if 0.
template <int kGroupWords, int kInterval, bool kHasMinimum, int kRows>
HWY_ATTR void multiply_codes(const CodedPanel& coded, const LinearTile& tile) {
  constexpr int kGroups = static_cast<int>(CodedPlan::kCodeWords) / kGroupWords;
  constexpr int kSteps = kInterval == 0 ? kGroupWords : std::min(kInterval, kGroupWords);
  using Sum = std::conditional_t<kInterval == 0, WideSum, NarrowSum>;
  // What is more than int8 holds is made int8 by taking 128 off.
  const bool flips = kInterval == 0 && !coded.is_signed;
  const std::int32_t taken_off = flips || coded.is_signed ? 128 : 0;
  const auto flip = hn::Set(kWords, flips ? 0x80808080U : 0U);
  const auto moved = hn::Set(kIntegers, taken_off - coded.offset);
  const auto* codes = reinterpret_cast<const std::uint32_t*>(coded.codes);
  const std::uint32_t* row = tile.rows;
  const std::int64_t blocks = tile.words / CodedPlan::kBlockWords;
  CodedAhead ahead(coded, tile.fetches, blocks);
  for (std::int64_t block = 0; block < blocks; ++block, row += CodedPlan::kBlockWords * kRows) {
    ahead.fetch();
    for (std::int64_t group = 0; group < kGroups; ++group) {
      const std::int64_t index = block * kGroups + group;
      Sum products[kRows][kPanelVectors];
      WEFT_UNROLL
      for (int word = 0; word < kGroupWords; ++word, codes += kOutputs) {
        typename Sum::Bytes weights[kPanelVectors];
        WEFT_UNROLL
        for (int v = 0; v < kPanelVectors; ++v) {
          const auto own = hn::Load(kWords, codes + v * kWidth);
          weights[v] = Sum::take(kInterval == 0 ? hn::Xor(own, flip) : own);
        }
        WEFT_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const auto inputs =
              Sum::take(hn::Set(kWords, row[(group * kGroupWords + word) * kRows + r]));
          WEFT_UNROLL
          for (int v = 0; v < kPanelVectors; ++v) {
            products[r][v].add(weights[v], inputs);
            if ((word + 1) % kSteps == 0) products[r][v].end_interval();
          }
        }
      }
      const bool begins = tile.first && index == 0;
      WEFT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const std::uint32_t* after = row + r;
        const std::uint32_t* sum = after + CodedPlan::kSumWord * kRows;
        const auto codes_sum = hn::Set(
            kIntegers,
            static_cast<std::int32_t>(kGroups == 2 ? sum[group * kRows] : sum[0] + sum[kRows]));
        const auto scale =
            hn::Set(kFloats, std::bit_cast<float>(after[CodedPlan::kScaleWord * kRows]));
        WEFT_UNROLL
        for (int v = 0; v < kPanelVectors; ++v) {
          float* to = tile.sums + r * LinearPlan::kGroupOutputs + v * kWidth;
          const std::int64_t at = index * kOutputs + v * kWidth;
          const auto total = hn::Add(products[r][v].total(), hn::Mul(codes_sum, moved));
          Floats value =
              hn::Mul(hn::ConvertTo(kFloats, total), hn::Load(kFloats, coded.scales + at));
          if (kHasMinimum) {
            value = hn::MulAdd(hn::ConvertTo(kFloats, codes_sum),
                               hn::Load(kFloats, coded.minimums + at), value);
          }
          const Floats before = begins ? hn::Zero(kFloats) : hn::Load(kFloats, to);
          hn::Store(hn::MulAdd(scale, value, before), kFloats, to);
        }
      }
    }
  }
}

using MultiplyCodes = void (*)(const CodedPanel&, const LinearTile&);

template <int kGroupWords, int kInterval, bool kHasMinimum, std::size_t... kIndex>
constexpr std::array<MultiplyCodes, sizeof...(kIndex)> coded_table_of(
    std::index_sequence<kIndex...> /*rows*/) {
  return {multiply_codes<kGroupWords, kInterval, kHasMinimum, static_cast<int>(kIndex) + 1>...};
}

template <int kGroupWords, int kInterval>
MultiplyCodes find_multiply_codes(bool has_minimum, std::int64_t rows) {
  constexpr auto kRows = std::make_index_sequence<kCodedTileRows>();
  static constexpr auto kPlain = coded_table_of<kGroupWords, kInterval, false>(kRows);
  static constexpr auto kWithMinimum = coded_table_of<kGroupWords, kInterval, true>(kRows);
  return (has_minimum ? kWithMinimum : kPlain)[static_cast<std::size_t>(rows - 1)];
}

/// 1 to kCodedTileRows rows by one panel. Of the tile rows, words, sums and first are looked at.
HWY_ATTR void multiply_coded_tile(std::int64_t rows, const CodedPanel& coded,
                                  const LinearTile& tile) {
  const bool minimum = coded.minimums != nullptr;
  const bool halves = coded.group_words == 4;
  const int interval = interval_of(coded.largest);
  const auto find = interval >= 8   ? halves ? find_multiply_codes<4, 4> : find_multiply_codes<8, 8>
                      : interval >= 4 ? halves ? find_multiply_codes<4, 4> : find_multiply_codes<8, 4>
                      : interval >= 2 ? halves ? find_multiply_codes<4, 2> : find_multiply_codes<8, 2>
                      : halves ? find_multiply_codes<4, 0>
                                    : find_multiply_codes<8, 0>;
  find(minimum, rows)(coded, tile);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // WEFT_KERNELS_LINEAR_CODES_INL_H
