#include "weft/kernels/linear/targets/linear_cpu_amxbf16.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "weft/kernels/linear/linear_plan.h"

#define WEFT_AMX_BF16 \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,amx-tile,amx-bf16")))

namespace weft::amxbf16 {
namespace {

constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;
constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kSumStride = LinearPlan::kGroupOutputs * 4;

/// Tiles 0 to 3 are sums of the first and the second half of the rows by two panels; 4 and 5 are
/// rows; 6 and 7 weights.
AmxShapes shapes_of(std::int64_t first_rows, std::int64_t second_rows) {
  AmxShapes shapes;
  const auto set = [&](std::size_t tile, std::int64_t rows) {
    if (rows > 0) shapes.tiles[tile] = {static_cast<std::uint8_t>(rows), kLineBytes};
  };
  for (const std::size_t tile : {0U, 1U, 4U}) set(tile, first_rows);
  for (const std::size_t tile : {2U, 3U, 5U}) set(tile, second_rows);
  for (const std::size_t tile : {6U, 7U}) set(tile, kLineWords);
  return shapes;
}

template <bool kIsPair, int kPanels>
WEFT_AMX_BF16 void load_sums(const LinearTile& tile, std::int64_t first_rows) {
  if (tile.first) {
    _tile_zero(0);
    if constexpr (kPanels == 2) _tile_zero(1);
    if constexpr (kIsPair) _tile_zero(2);
    if constexpr (kIsPair && kPanels == 2) _tile_zero(3);
    return;
  }
  const float* second = tile.sums + first_rows * LinearPlan::kGroupOutputs;
  _tile_loadd(0, tile.sums, kSumStride);
  if constexpr (kPanels == 2) _tile_loadd(1, tile.sums + kLanes, kSumStride);
  if constexpr (kIsPair) _tile_loadd(2, second, kSumStride);
  if constexpr (kIsPair && kPanels == 2) _tile_loadd(3, second + kLanes, kSumStride);
}

template <bool kIsPair, int kPanels>
WEFT_AMX_BF16 void store_sums(const LinearTile& tile, std::int64_t first_rows) {
  float* second = tile.sums + first_rows * LinearPlan::kGroupOutputs;
  _tile_stored(0, tile.sums, kSumStride);
  if constexpr (kPanels == 2) _tile_stored(1, tile.sums + kLanes, kSumStride);
  if constexpr (kIsPair) _tile_stored(2, second, kSumStride);
  if constexpr (kIsPair && kPanels == 2) _tile_stored(3, second + kLanes, kSumStride);
}

template <bool kIsPair, int kPanels>
WEFT_AMX_BF16 void multiply(const LinearTile& tile, std::int64_t size, std::int64_t first_rows) {
  asm volatile("" ::: "memory");  // GCC 12 does not know that tiles are loaded from memory
  load_sums<kIsPair, kPanels>(tile, first_rows);
  const std::uint32_t* rows = tile.rows;
  const std::byte* panels = tile.panels;
  const std::byte* ahead = tile.ahead;
  for (std::int64_t word = 0; word < tile.words; word += kLineWords) {
    _tile_loadd(6, panels, kLineBytes);
    _tile_loadd(4, rows, kLineBytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kPanels == 2) {
      _tile_loadd(7, panels + tile.panel_stride, kLineBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kIsPair) {
      _tile_loadd(5, rows + first_rows * kLineWords, kLineBytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kPanels == 2) _tile_dpbf16ps(3, 5, 7);
    }
    if (tile.fetches) {
      for (std::int64_t i = 0; i < kLineWords; ++i, ahead += tile.ahead_step) {
        for (int p = 0; p < kPanels; ++p) {
          _mm_prefetch(reinterpret_cast<const char*>(ahead + p * tile.ahead_stride), _MM_HINT_T1);
        }
      }
    }
    rows += size * kLineWords;
    panels += kLineWords * kLineBytes;
  }
  store_sums<kIsPair, kPanels>(tile, first_rows);
}

}  // namespace

WEFT_AMX_BF16 void pack_row(const float* row, std::int64_t count, std::uint32_t* to, std::int64_t r,
                            std::int64_t rows) {
  constexpr std::int64_t kInputs = 2 * kLineWords;
  to += r * kLineWords;
  for (std::int64_t i = 0; i < count; i += kInputs, to += rows * kLineWords) {
    const std::int64_t left = count - i;
    const auto mask = left >= kInputs ? ~0U : (1U << static_cast<unsigned>(left)) - 1U;
    const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), row + i);
    const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16U), row + i + 16);
    _mm512_store_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
  }
}

void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile,
                   AmxTiles& tiles) {
  // Equal halves: a product takes longer the more rows it has.
  const std::int64_t first_rows = rows > kTileRows / 2 ? (rows + 1) / 2 : rows;
  tiles.shape(shapes_of(first_rows, rows - first_rows));
  if (rows > first_rows) {
    (panels == 2 ? multiply<true, 2> : multiply<true, 1>)(tile, rows, first_rows);
  } else {
    (panels == 2 ? multiply<false, 2> : multiply<false, 1>)(tile, rows, first_rows);
  }
}

}  // namespace weft::amxbf16

#endif
