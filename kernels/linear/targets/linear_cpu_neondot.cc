#include "weft/kernels/linear/targets/linear_cpu_neondot.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <array>
#include <cstddef>
#include <utility>

#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/linear/targets/linear_cpu_neon_scale.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_NEONDOT __attribute__((target("arch=armv8.2-a+dotprod")))

namespace weft::neondot {
namespace {

constexpr std::int64_t kOutputs = PackedLayout::kPanelOutputs;
constexpr int kWidth = 4;
constexpr int kVectors = static_cast<int>(kOutputs) / kWidth;  // vectors of a panel's outputs

template <int kRows, int kGroupWords, bool kHasMinimum, bool kFlips>
WEFT_NEONDOT void multiply(const CodedPanel& coded, const LinearTile& tile) {
  constexpr int kGroups = static_cast<int>(CodedPlan::kCodeWords) / kGroupWords;
  const int32x4_t offset = vdupq_n_s32(neon::rest_of_offset(coded));
  const uint8x16_t flip = vdupq_n_u8(0x80);
  const auto* codes = reinterpret_cast<const std::uint8_t*>(coded.codes);
  const std::uint32_t* row = tile.rows;
  const std::int64_t blocks = tile.words / CodedPlan::kBlockWords;
  CodedAhead ahead(coded, tile.fetches, blocks);
  for (std::int64_t block = 0; block < blocks; ++block, row += CodedPlan::kBlockWords * kRows) {
    ahead.fetch();
    for (std::int64_t group = 0; group < kGroups; ++group) {
      const std::int64_t index = block * kGroups + group;
      int32x4_t products[kRows][kVectors] = {};
      WEFT_UNROLL
      for (int word = 0; word < kGroupWords; ++word, codes += kOutputs * 4) {
        int8x16_t weights[kVectors];
        WEFT_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          uint8x16_t own = vld1q_u8(codes + std::ptrdiff_t{16} * v);
          if (kFlips) own = veorq_u8(own, flip);
          weights[v] = vreinterpretq_s8_u8(own);
        }
        WEFT_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const std::uint32_t four = row[(group * kGroupWords + word) * kRows + r];
          const int8x16_t inputs = vreinterpretq_s8_u32(vdupq_n_u32(four));
          WEFT_UNROLL
          for (int v = 0; v < kVectors; ++v) {
            products[r][v] = vdotq_s32(products[r][v], weights[v], inputs);
          }
        }
      }
      const bool begins = tile.first && index == 0;
      WEFT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const neon::RowScale scale = neon::RowScale::of<kGroups>(row + r, kRows, group);
        WEFT_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          scale.add<kHasMinimum>(coded, index * kOutputs + v * kWidth, products[r][v], offset,
                                 begins, tile.sums + r * LinearPlan::kGroupOutputs + v * kWidth);
        }
      }
    }
  }
}

using Multiply = void (*)(const CodedPanel&, const LinearTile&);

template <int kGroupWords, bool kHasMinimum, bool kFlips, std::size_t... kIndex>
constexpr std::array<Multiply, sizeof...(kIndex)> table_of(
    std::index_sequence<kIndex...> /*rows*/) {
  return {multiply<static_cast<int>(kIndex) + 1, kGroupWords, kHasMinimum, kFlips>...};
}

}  // namespace

void multiply_tile(std::int64_t rows, const CodedPanel& coded, const LinearTile& tile) {
  constexpr auto kRows = std::make_index_sequence<kTileRows>();
  // Indexed by whether there are minimums. Codes with a scale for 16 inputs are all below 64.
  static constexpr std::array kWhole = {table_of<8, false, false>(kRows),
                                        table_of<8, true, false>(kRows)};
  static constexpr std::array kFlipped = {table_of<8, false, true>(kRows),
                                          table_of<8, true, true>(kRows)};
  static constexpr std::array kHalves = {table_of<4, false, false>(kRows),
                                         table_of<4, true, false>(kRows)};
  const auto& tables = coded.group_words == 4 ? kHalves : neon::flips(coded) ? kFlipped : kWhole;
  const std::size_t minimum = coded.minimums != nullptr ? 1 : 0;
  tables[minimum][static_cast<std::size_t>(rows - 1)](coded, tile);
}

}  // namespace weft::neondot

#endif
