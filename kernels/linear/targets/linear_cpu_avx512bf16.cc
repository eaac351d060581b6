#include "weft/kernels/linear/targets/linear_cpu_avx512bf16.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <utility>

#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

namespace weft::avx512bf16 {
namespace {

constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;

template <int kRows, int kPanels>
WEFT_TARGET void multiply(const LinearTile& tile) {
  __m512 sums[kRows][kPanels];
  WEFT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    WEFT_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      const float* at = tile.sums + r * LinearPlan::kGroupOutputs + p * kLanes;
      sums[r][p] = tile.first ? _mm512_setzero_ps() : _mm512_load_ps(at);
    }
  }
  const std::uint32_t* rows = tile.rows;
  const std::byte* panels = tile.panels;
  const std::byte* ahead = tile.ahead;
  for (std::int64_t word = 0; word < tile.words; ++word) {
    __m512i weights[kPanels];
    WEFT_UNROLL
    for (int p = 0; p < kPanels; ++p)
      weights[p] = _mm512_load_si512(panels + p * tile.panel_stride);
    WEFT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const __m512i pair = _mm512_set1_epi32(static_cast<int>(rows[r]));
      WEFT_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        sums[r][p] = _mm512_dpbf16_ps(sums[r][p], reinterpret_cast<__m512bh>(pair),
                                      reinterpret_cast<__m512bh>(weights[p]));
      }
    }
    if (tile.fetches) {
      // Prefetches into the first-level cache, unless other tiles still need the block there.
      constexpr auto kAhead = kRows <= 2 ? _MM_HINT_T0 : _MM_HINT_T1;
      WEFT_UNROLL
      for (int p = 0; p < kPanels; ++p) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead + p * tile.ahead_stride), kAhead);
      }
    }
    rows += kRows;
    panels += 64;
    ahead += tile.ahead_step;
  }
  WEFT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    WEFT_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      _mm512_store_ps(tile.sums + r * LinearPlan::kGroupOutputs + p * kLanes, sums[r][p]);
    }
  }
}

using Multiply = void (*)(const LinearTile&);

template <int kPanels, std::size_t... kIndex>
constexpr std::array<Multiply, sizeof...(kIndex)> table_of(
    std::index_sequence<kIndex...> /*rows*/) {
  return {multiply<static_cast<int>(kIndex) + 1, kPanels>...};
}

constexpr auto kOnePanel = table_of<1>(std::make_index_sequence<kTileRows>());
constexpr auto kTwoPanels = table_of<2>(std::make_index_sequence<kTileRows>());

}  // namespace

WEFT_TARGET void pack_row(const float* row, std::int64_t count, std::uint32_t* to,
                          std::int64_t stride) {
  alignas(64) std::array<std::uint32_t, 16> pairs;
  for (std::int64_t i = 0; i < count; i += 32) {
    const std::int64_t left = count - i;
    const auto mask = left >= 32 ? ~0U : (1U << static_cast<unsigned>(left)) - 1U;
    const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), row + i);
    const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16U), row + i + 16);
    const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
    if (stride == 1 && left >= 32) {
      _mm512_storeu_si512(to + i / 2, both);
      continue;
    }
    _mm512_store_si512(pairs.data(), both);
    const std::int64_t words = left >= 32 ? 16 : (left + 1) / 2;
    for (std::int64_t word = 0; word < words; ++word) {
      to[(i / 2 + word) * stride] = pairs[static_cast<std::size_t>(word)];
    }
  }
}

void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile) {
  const auto& table = panels == 2 ? kTwoPanels : kOnePanel;
  table[static_cast<std::size_t>(rows - 1)](tile);
}

}  // namespace weft::avx512bf16

#endif
