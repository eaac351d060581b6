#include "weft/kernels/linear/targets/linear_cpu_neonbf16.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_NEONBF16 __attribute__((target("arch=armv8.2-a+bf16")))
#define WEFT_NEONBF16_INLINE WEFT_NEONBF16 __attribute__((always_inline)) inline

namespace weft::neonbf16 {
namespace {

constexpr std::int64_t kOutputs = PackedLayout::kPanelOutputs;
constexpr std::int64_t kWordBytes = kOutputs * 4;

/// Returns the number of pairs of outputs whose weights are in registers. With few rows it is a
/// whole panel, so that enough sums hide BFMMLA's latency. With more rows it is half a panel, which
/// needs fewer zips.
constexpr int twos_of(int rows) { return rows <= 4 ? kOutputs / 2 : kOutputs / 4; }

/// Loads the weights of pairs of outputs, of a word and the next word (zero if there is no next).
template <bool kHasNext, int kTwos>
WEFT_NEONBF16_INLINE void load_weights(const std::byte* panel, bfloat16x8_t (&weights)[kTwos]) {
  WEFT_UNROLL
  for (int v = 0; v < kTwos / 2; ++v) {
    const auto* at = reinterpret_cast<const std::uint32_t*>(panel) + std::ptrdiff_t{4} * v;
    const uint32x4_t low = vld1q_u32(at);
    const uint32x4_t high = kHasNext ? vld1q_u32(at + kOutputs) : vdupq_n_u32(0);
    weights[2 * v] = vreinterpretq_bf16_u32(vzip1q_u32(low, high));
    weights[2 * v + 1] = vreinterpretq_bf16_u32(vzip2q_u32(low, high));
  }
}

/// Loads rows r and r + 1, of a word and the next. If r is the last row, loads it twice.
template <bool kHasNext, int kRows>
WEFT_NEONBF16_INLINE bfloat16x8_t load_rows(const std::uint32_t* words, int r) {
  const int other = r + 1 < kRows ? r + 1 : r;
  if (kHasNext) {
    return vreinterpretq_bf16_u32(vcombine_u32(vld1_u32(words + std::ptrdiff_t{2} * r),
                                               vld1_u32(words + std::ptrdiff_t{2} * other)));
  }
  const uint32x4_t last = {words[r], 0, words[other], 0};
  return vreinterpretq_bf16_u32(last);
}

/// A vector of sums has rows r and r + 1 by outputs o and o + 1: row r's two sums come first.
template <bool kHasNext, int kRows, int kPairs, int kTwos>
WEFT_NEONBF16_INLINE void add_words(const std::uint32_t* rows, const std::byte* panel,
                                    float32x4_t (&sums)[kPairs][kTwos]) {
  bfloat16x8_t weights[kTwos];
  load_weights<kHasNext>(panel, weights);
  WEFT_UNROLL
  for (int pair = 0; pair < kPairs; ++pair) {
    const bfloat16x8_t inputs = load_rows<kHasNext, kRows>(rows, 2 * pair);
    WEFT_UNROLL
    for (int two = 0; two < kTwos; ++two) {
      sums[pair][two] = vbfmmlaq_f32(sums[pair][two], inputs, weights[two]);
    }
  }
}

/// Multiplies by the first 2 * twos_of(kRows) outputs of the panel.
template <int kRows>
WEFT_NEONBF16 void multiply(const LinearTile& tile) {
  constexpr int kPairs = (kRows + 1) / 2;
  constexpr int kTwos = twos_of(kRows);
  // Prefetches into the first-level cache, unless other tiles still need the block there.
  constexpr int kAhead = kRows <= 2 ? 3 : 2;
  const auto sums_of = [&](int r, int two) {
    return tile.sums + std::min(r, kRows - 1) * LinearPlan::kGroupOutputs + std::ptrdiff_t{2} * two;
  };
  float32x4_t sums[kPairs][kTwos] = {};
  if (!tile.first) {
    WEFT_UNROLL
    for (int pair = 0; pair < kPairs; ++pair) {
      WEFT_UNROLL
      for (int two = 0; two < kTwos; ++two) {
        sums[pair][two] =
            vcombine_f32(vld1_f32(sums_of(2 * pair, two)), vld1_f32(sums_of(2 * pair + 1, two)));
      }
    }
  }
  const std::uint32_t* rows = tile.rows;
  const std::byte* panel = tile.panels;
  const std::byte* ahead = tile.ahead;
  for (std::int64_t word = 0; word + 1 < tile.words; word += 2) {
    add_words<true, kRows>(rows, panel, sums);
    if (tile.fetches) {
      __builtin_prefetch(ahead, 0, kAhead);
      __builtin_prefetch(ahead + tile.ahead_step, 0, kAhead);
    }
    rows += std::ptrdiff_t{2} * kRows;
    panel += 2 * kWordBytes;
    ahead += 2 * tile.ahead_step;
  }
  if (tile.words % 2 != 0) add_words<false, kRows>(rows, panel, sums);
  WEFT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    WEFT_UNROLL
    for (int two = 0; two < kTwos; ++two) {
      const float32x4_t own = sums[r / 2][two];
      vst1_f32(sums_of(r, two), r % 2 == 0 ? vget_low_f32(own) : vget_high_f32(own));
    }
  }
}

using Multiply = void (*)(const LinearTile&);

template <std::size_t... kIndex>
constexpr std::array<Multiply, sizeof...(kIndex)> table_of(
    std::index_sequence<kIndex...> /*rows*/) {
  return {multiply<static_cast<int>(kIndex) + 1>...};
}

constexpr auto kMultiply = table_of(std::make_index_sequence<kTileRows>());

}  // namespace

WEFT_NEONBF16 void pack_row(const float* row, std::int64_t count, std::uint32_t* tile,
                            std::int64_t index, std::int64_t rows) {
  const auto rounded = [](const float* four) WEFT_NEONBF16 {
    return vreinterpret_u32_bf16(vcvt_bf16_f32(vld1q_f32(four)));
  };
  std::uint32_t* to = tile + 2 * index;
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4, to += 2 * rows) vst1_u32(to, rounded(row + i));
  if (i == count) return;
  std::array<float, 4> rest = {};
  std::copy(row + i, row + count, rest.begin());
  const uint32x2_t words = rounded(rest.data());
  if (count - i > 2) {
    vst1_u32(to, words);
  } else {
    to[-index] = vget_lane_u32(words, 0);
  }
}

void multiply_tile(std::int64_t rows, const LinearTile& tile) {
  const std::int64_t outputs = 2 * twos_of(static_cast<int>(rows));
  LinearTile part = tile;
  for (std::int64_t output = 0; output < kOutputs; output += outputs) {
    kMultiply[static_cast<std::size_t>(rows - 1)](part);
    part.panels += outputs * 4;
    part.sums += outputs;
    part.fetches = false;  // the first part has prefetched whole lines
  }
}

}  // namespace weft::neonbf16

#endif
