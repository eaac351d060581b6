#include "weft/kernels/linear/targets/linear_cpu_neoni8mm.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <array>
#include <cstddef>

#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/linear/targets/linear_cpu_neon_scale.h"
#include "weft/kernels/linear/targets/linear_cpu_neondot.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_NEONI8MM __attribute__((target("arch=armv8.2-a+dotprod+i8mm")))

namespace weft::neoni8mm {
namespace {

constexpr std::int64_t kOutputs = PackedLayout::kPanelOutputs;
constexpr int kWidth = 4;
constexpr int kVectors = static_cast<int>(kOutputs) / kWidth;  // vectors of a panel's outputs
constexpr int kTwos = static_cast<int>(kOutputs) / 2;          // pairs of outputs

/// Loads words `word` and `word + 1` of all 16 outputs: eight codes of two outputs a vector.
template <bool kFlips>
WEFT_NEONI8MM __attribute__((always_inline)) inline void load_weights(const std::uint8_t* codes,
                                                                      int8x16_t (&weights)[kTwos]) {
  WEFT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    uint8x16_t low = vld1q_u8(codes + std::ptrdiff_t{16} * v);
    uint8x16_t high = vld1q_u8(codes + kOutputs * 4 + std::ptrdiff_t{16} * v);
    if (kFlips) {
      low = veorq_u8(low, vdupq_n_u8(0x80));
      high = veorq_u8(high, vdupq_n_u8(0x80));
    }
    const uint32x4_t first = vreinterpretq_u32_u8(low);
    const uint32x4_t second = vreinterpretq_u32_u8(high);
    weights[2 * v] = vreinterpretq_s8_u32(vzip1q_u32(first, second));
    weights[2 * v + 1] = vreinterpretq_s8_u32(vzip2q_u32(first, second));
  }
}

/// Loads eight codes (two words) of rows r and r + 1. If r is the last row, loads it twice.
template <int kRows>
WEFT_NEONI8MM __attribute__((always_inline)) inline int8x16_t load_rows(const std::uint32_t* words,
                                                                        int r) {
  const int other = r + 1 < kRows ? r + 1 : r;
  const uint32x2_t first = {words[r], words[kRows + r]};
  const uint32x2_t second = {words[other], words[kRows + other]};
  return vreinterpretq_s8_u32(vcombine_u32(first, second));
}

template <int kRows, int kGroupWords, bool kHasMinimum, bool kFlips>
WEFT_NEONI8MM void multiply(const CodedPanel& coded, const LinearTile& tile) {
  constexpr int kGroups = static_cast<int>(CodedPlan::kCodeWords) / kGroupWords;
  constexpr int kPairs = (kRows + 1) / 2;
  const int32x4_t offset = vdupq_n_s32(neon::rest_of_offset(coded));
  const auto* codes = reinterpret_cast<const std::uint8_t*>(coded.codes);
  const std::uint32_t* row = tile.rows;
  const std::int64_t blocks = tile.words / CodedPlan::kBlockWords;
  CodedAhead ahead(coded, tile.fetches, blocks);
  for (std::int64_t block = 0; block < blocks; ++block, row += CodedPlan::kBlockWords * kRows) {
    ahead.fetch();
    for (std::int64_t group = 0; group < kGroups; ++group) {
      // Each vector has rows r and r + 1 by outputs o and o + 1, row r's two sums first.
      int32x4_t products[kPairs][kTwos] = {};
      WEFT_UNROLL
      for (int word = 0; word < kGroupWords; word += 2, codes += kOutputs * 8) {
        int8x16_t weights[kTwos];
        load_weights<kFlips>(codes, weights);
        WEFT_UNROLL
        for (int pair = 0; pair < kPairs; ++pair) {
          const int8x16_t inputs =
              load_rows<kRows>(row + (group * kGroupWords + word) * kRows, 2 * pair);
          WEFT_UNROLL
          for (int two = 0; two < kTwos; ++two) {
            products[pair][two] = vmmlaq_s32(products[pair][two], inputs, weights[two]);
          }
        }
      }
      const std::int64_t index = block * kGroups + group;
      const bool begins = tile.first && index == 0;
      WEFT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const neon::RowScale scale = neon::RowScale::of<kGroups>(row + r, kRows, group);
        WEFT_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          const int64x2_t low = vreinterpretq_s64_s32(products[r / 2][2 * v]);
          const int64x2_t high = vreinterpretq_s64_s32(products[r / 2][2 * v + 1]);
          const int64x2_t own = r % 2 == 0 ? vzip1q_s64(low, high) : vzip2q_s64(low, high);
          scale.add<kHasMinimum>(coded, index * kOutputs + v * kWidth, vreinterpretq_s32_s64(own),
                                 offset, begins,
                                 tile.sums + r * LinearPlan::kGroupOutputs + v * kWidth);
        }
      }
    }
  }
}

using Multiply = void (*)(const CodedPanel&, const LinearTile&);

/// The kernels of 2, 3 and 4 rows.
template <int kGroupWords, bool kHasMinimum, bool kFlips>
constexpr std::array<Multiply, kTileRows - 1> kTable = {
    multiply<2, kGroupWords, kHasMinimum, kFlips>, multiply<3, kGroupWords, kHasMinimum, kFlips>,
    multiply<4, kGroupWords, kHasMinimum, kFlips>};

}  // namespace

void multiply_tile(std::int64_t rows, const CodedPanel& coded, const LinearTile& tile) {
  if (rows == 1) {
    neondot::multiply_tile(rows, coded, tile);
    return;
  }
  // Indexed by whether there are minimums. Codes with a scale for 16 inputs are all below 64.
  static constexpr std::array kWhole = {kTable<8, false, false>, kTable<8, true, false>};
  static constexpr std::array kFlipped = {kTable<8, false, true>, kTable<8, true, true>};
  static constexpr std::array kHalves = {kTable<4, false, false>, kTable<4, true, false>};
  const auto& tables = coded.group_words == 4 ? kHalves : neon::flips(coded) ? kFlipped : kWhole;
  const std::size_t minimum = coded.minimums != nullptr ? 1 : 0;
  tables[minimum][static_cast<std::size_t>(rows - 2)](coded, tile);
}

}  // namespace weft::neoni8mm

#endif
