// Rounds rows to int8 (linear_codes.h). For linear_cpu.cc. The include guard is Highway's: each
// instruction set reads the file once.
#if defined(WEFT_KERNELS_LINEAR_ROUND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_LINEAR_ROUND_INL_H
#undef WEFT_KERNELS_LINEAR_ROUND_INL_H
#else
#define WEFT_KERNELS_LINEAR_ROUND_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/codes/linear_words-inl.h"
#include "weft/kernels/simd/unroll.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// A block of a row in int8: its codes and the sums of its two halves.
struct RoundedBlock {
  std::array<std::uint32_t, CodedPlan::kCodeWords> words{};
  std::array<std::int32_t, 2> sums{};
  float scale = 0;
};

constexpr int kBlockVectors = static_cast<int>(CodedPlan::kBlockInputs) / kWidth;
static_assert(kBlockVectors % 2 == 0);

HWY_INLINE RoundedBlock round_block(const float* row) {
  constexpr std::int32_t kInfinity = 0x7f800000;
  // A block of smaller numbers becomes zero: 127 / its largest number would be infinite.
  constexpr float kLeast = 1e-36F;
  // A number plus kRound has the nearest integer in its lowest bits, ties to even.
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
/// gets a scale of NaN.
[[maybe_unused]] HWY_ATTR void pack_coded_row(const float* row, std::int64_t inputs,
                                              std::uint32_t* to, std::int64_t stride) {
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

/// Widens the int8 of words to int16: the bytes at even places, then the bytes at odd places.
HWY_INLINE std::array<std::uint32_t, PairedRow<true>::kCodeWords> widened(
    const std::array<std::uint32_t, CodedPlan::kCodeWords>& words) {
  const auto bytes = std::bit_cast<std::array<std::int8_t, CodedPlan::kBlockInputs>>(words);
  std::array<std::int16_t, CodedPlan::kBlockInputs> shorts;
  for (std::size_t at = 0; at < shorts.size(); at += 4) {
    shorts[at] = bytes[at];
    shorts[at + 1] = bytes[at + 2];
    shorts[at + 2] = bytes[at + 1];
    shorts[at + 3] = bytes[at + 3];
  }
  return std::bit_cast<std::array<std::uint32_t, PairedRow<true>::kCodeWords>>(shorts);
}

/// Rounds a row and writes its blocks in the layout of PairedRow, `stride` words apart.
template <bool kIsWide>
HWY_ATTR void pack_paired_row(const float* row, std::int64_t inputs, std::uint32_t* to,
                              std::int64_t stride) {
  using Row = PairedRow<kIsWide>;
  for (std::int64_t i = 0; i < inputs; i += CodedPlan::kBlockInputs, to += stride) {
    const RoundedBlock block = round_block(row + i);
    if constexpr (kIsWide) {
      std::ranges::copy(widened(block.words), to);
    } else {
      std::ranges::copy(block.words, to);
    }
    const float last[] = {block.scale, static_cast<float>(block.sums[0]),
                          static_cast<float>(block.sums[1]),
                          static_cast<float>(block.sums[0] + block.sums[1])};
    static_assert(Row::kScaleWord + std::ssize(last) == Row::kBlockWords);
    std::ranges::transform(last, to + Row::kScaleWord,
                           [](float number) { return std::bit_cast<std::uint32_t>(number); });
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // WEFT_KERNELS_LINEAR_ROUND_INL_H
