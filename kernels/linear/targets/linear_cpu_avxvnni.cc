#include "weft/kernels/linear/targets/linear_cpu_avxvnni.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <utility>

#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_AVXVNNI __attribute__((target("avx2,fma,avxvnni")))

namespace weft::avxvnni {
namespace {

constexpr std::int64_t kOutputs = PackedLayout::kPanelOutputs;
constexpr std::int64_t kWidth = 8;
constexpr int kVectors = 2;  // vectors of a panel's 16 outputs

template <int kRows, int kGroupWords, bool kHasMinimum, bool kIsSigned>
WEFT_AVXVNNI void multiply(const CodedPanel& coded, const LinearTile& tile) {
  constexpr int kGroups = static_cast<int>(CodedPlan::kCodeWords) / kGroupWords;
  const __m256i minus_offset = _mm256_set1_epi32(-coded.offset);
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(0x80));
  const auto* codes = reinterpret_cast<const __m256i*>(coded.codes);
  const std::uint32_t* row = tile.rows;
  const std::int64_t blocks = tile.words / CodedPlan::kBlockWords;
  CodedAhead ahead(coded, tile.fetches, blocks);
  for (std::int64_t block = 0; block < blocks; ++block, row += CodedPlan::kBlockWords * kRows) {
    ahead.fetch();
    for (std::int64_t group = 0; group < kGroups; ++group) {
      const std::int64_t index = block * kGroups + group;
      __m256i products[kRows][kVectors] = {};
      WEFT_UNROLL
      for (int word = 0; word < kGroupWords; ++word, codes += kVectors) {
        __m256i weights[kVectors];
        WEFT_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          weights[v] = _mm256_load_si256(codes + v);
          if (kIsSigned) weights[v] = _mm256_xor_si256(weights[v], flip);
        }
        WEFT_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const std::uint32_t four = row[(group * kGroupWords + word) * kRows + r];
          const __m256i inputs = _mm256_set1_epi32(static_cast<int>(four));
          WEFT_UNROLL
          for (int v = 0; v < kVectors; ++v) {
            products[r][v] = _mm256_dpbusd_avx_epi32(products[r][v], weights[v], inputs);
          }
        }
      }
      const bool begins = tile.first && index == 0;
      WEFT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const std::uint32_t* sum = row + CodedPlan::kSumWord * kRows + r;
        const __m256i codes_sum = _mm256_set1_epi32(
            static_cast<int>(kGroups == 2 ? sum[group * kRows] : sum[0] + sum[kRows]));
        const __m256 scale = _mm256_castsi256_ps(
            _mm256_set1_epi32(static_cast<int>(row[CodedPlan::kScaleWord * kRows + r])));
        WEFT_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          float* to = tile.sums + r * LinearPlan::kGroupOutputs + v * kWidth;
          const std::int64_t at = index * kOutputs + v * kWidth;
          const __m256i total =
              _mm256_add_epi32(products[r][v], _mm256_mullo_epi32(codes_sum, minus_offset));
          __m256 value =
              _mm256_mul_ps(_mm256_cvtepi32_ps(total), _mm256_load_ps(coded.scales + at));
          if (kHasMinimum) {
            value = _mm256_fmadd_ps(_mm256_cvtepi32_ps(codes_sum),
                                    _mm256_load_ps(coded.minimums + at), value);
          }
          const __m256 before = begins ? _mm256_setzero_ps() : _mm256_load_ps(to);
          _mm256_store_ps(to, _mm256_fmadd_ps(scale, value, before));
        }
      }
    }
  }
}

using Multiply = void (*)(const CodedPanel&, const LinearTile&);

template <int kGroupWords, bool kHasMinimum, bool kIsSigned, std::size_t... kIndex>
constexpr std::array<Multiply, sizeof...(kIndex)> table_of(
    std::index_sequence<kIndex...> /*rows*/) {
  return {multiply<static_cast<int>(kIndex) + 1, kGroupWords, kHasMinimum, kIsSigned>...};
}

}  // namespace

void multiply_tile(std::int64_t rows, const CodedPanel& coded, const LinearTile& tile) {
  constexpr auto kRows = std::make_index_sequence<kTileRows>();
  static constexpr auto kSigned = table_of<8, false, true>(kRows);
  static constexpr auto kPlain = table_of<8, false, false>(kRows);
  static constexpr auto kWithMinimum = table_of<8, true, false>(kRows);
  static constexpr auto kHalves = table_of<4, false, false>(kRows);
  static constexpr auto kHalvesWithMinimum = table_of<4, true, false>(kRows);
  const bool minimum = coded.minimums != nullptr;
  const auto& whole = coded.is_signed ? kSigned : minimum ? kWithMinimum : kPlain;
  const auto& halves = minimum ? kHalvesWithMinimum : kHalves;
  const auto& table = coded.group_words == 4 ? halves : whole;
  table[static_cast<std::size_t>(rows - 1)](coded, tile);
}

}  // namespace weft::avxvnni

#endif
