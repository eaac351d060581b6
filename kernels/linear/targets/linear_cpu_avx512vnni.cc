#include "weft/kernels/linear/targets/linear_cpu_avx512vnni.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <utility>

#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace weft::avx512vnni {
namespace {

constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;
constexpr std::int64_t kCodeWords = CodedPlan::kCodeWords;
constexpr std::int64_t kScaleWord = CodedPlan::kScaleWord;
constexpr std::int64_t kSumWord = CodedPlan::kSumWord;
constexpr std::int64_t kBlockWords = CodedPlan::kBlockWords;

/// Whether a weight, scale * (code - offset) + minimum, has an offset and a minimum.
struct Form {
  int group_words;
  bool has_offset;
  bool has_minimum;
  bool is_signed;
};

template <int kRows, int kPanels, Form kForm>
WEFT_VNNI void multiply(const CodedPanel* coded, const LinearTile& tile) {
  __m512 sums[kRows][kPanels];
  WEFT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    WEFT_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      const float* at = tile.sums + r * LinearPlan::kGroupOutputs + p * kLanes;
      sums[r][p] = tile.first ? _mm512_setzero_ps() : _mm512_load_ps(at);
    }
  }
  constexpr int kGroups = static_cast<int>(kCodeWords) / kForm.group_words;
  const __m512i minus_offset = _mm512_set1_epi32(-coded[0].offset);
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  const std::uint32_t* row = tile.rows;
  const std::int64_t blocks = tile.words / kBlockWords;
  CodedAhead ahead[] = {{coded[0], tile.fetches, blocks},
                        {coded[kPanels - 1], tile.fetches, blocks}};
  for (std::int64_t block = 0; block < blocks; ++block, row += kBlockWords * kRows) {
    for (int p = 0; p < kPanels; ++p) ahead[p].fetch();
    for (std::int64_t group = 0; group < kGroups; ++group) {
      const std::int64_t index = block * kGroups + group;
      __m512i products[kRows][kPanels];
      __m512i codes_sum[kRows];
      WEFT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const std::uint32_t* sum = row + kSumWord * kRows + r;
        const std::uint32_t own = kGroups == 2 ? sum[group * kRows] : sum[0] + sum[kRows];
        codes_sum[r] = _mm512_set1_epi32(static_cast<int>(own));
        WEFT_UNROLL
        for (int p = 0; p < kPanels; ++p) {
          products[r][p] = kForm.has_offset ? _mm512_mullo_epi32(codes_sum[r], minus_offset)
                                            : _mm512_setzero_si512();
        }
      }
      WEFT_UNROLL
      for (int word = 0; word < kForm.group_words; ++word) {
        __m512i weights[kPanels];
        WEFT_UNROLL
        for (int p = 0; p < kPanels; ++p) {
          weights[p] = _mm512_load_si512(coded[p].codes + (index * kForm.group_words + word) * 64);
          if (kForm.is_signed) weights[p] = _mm512_xor_si512(weights[p], flip);
        }
        WEFT_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const std::uint32_t four = row[(group * kForm.group_words + word) * kRows + r];
          const __m512i inputs = _mm512_set1_epi32(static_cast<int>(four));
          WEFT_UNROLL
          for (int p = 0; p < kPanels; ++p) {
            products[r][p] = _mm512_dpbusd_epi32(products[r][p], weights[p], inputs);
          }
        }
      }
      WEFT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const __m512 scale =
            _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(row[kScaleWord * kRows + r])));
        WEFT_UNROLL
        for (int p = 0; p < kPanels; ++p) {
          __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(products[r][p]),
                                       _mm512_load_ps(coded[p].scales + index * kLanes));
          if (kForm.has_minimum) {
            value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(codes_sum[r]),
                                    _mm512_load_ps(coded[p].minimums + index * kLanes), value);
          }
          sums[r][p] = _mm512_fmadd_ps(scale, value, sums[r][p]);
        }
      }
    }
  }
  WEFT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    WEFT_UNROLL
    for (int p = 0; p < kPanels; ++p) {
      _mm512_store_ps(tile.sums + r * LinearPlan::kGroupOutputs + p * kLanes, sums[r][p]);
    }
  }
}

using Multiply = void (*)(const CodedPanel*, const LinearTile&);

template <int kPanels, Form kForm, std::size_t... kIndex>
constexpr std::array<Multiply, sizeof...(kIndex)> table_of(
    std::index_sequence<kIndex...> /*rows*/) {
  return {multiply<static_cast<int>(kIndex) + 1, kPanels, kForm>...};
}

template <int kPanels>
Multiply find_multiply(const CodedPanel& coded, std::int64_t rows) {
  constexpr auto kRows = std::make_index_sequence<kTileRows>();
  static constexpr auto kSigned = table_of<kPanels, Form{8, true, false, true}>(kRows);
  static constexpr auto kPlain = table_of<kPanels, Form{8, true, false, false}>(kRows);
  static constexpr auto kWithMinimum = table_of<kPanels, Form{8, false, true, false}>(kRows);
  static constexpr auto kWithBoth = table_of<kPanels, Form{8, true, true, false}>(kRows);
  static constexpr auto kHalves = table_of<kPanels, Form{4, true, false, false}>(kRows);
  static constexpr auto kHalvesWithMinimum = table_of<kPanels, Form{4, true, true, false}>(kRows);
  const bool minimum = coded.minimums != nullptr;
  const auto& with_minimum = coded.offset == 0 ? kWithMinimum : kWithBoth;
  const auto& whole = coded.is_signed ? kSigned : minimum ? with_minimum : kPlain;
  const auto& halves = minimum ? kHalvesWithMinimum : kHalves;
  const auto& table = coded.group_words == 4 ? halves : whole;
  return table[static_cast<std::size_t>(rows - 1)];
}

bool are_alike(const CodedPanel& a, const CodedPanel& b) {
  return a.offset == b.offset && a.group_words == b.group_words && a.is_signed == b.is_signed &&
         (a.minimums == nullptr) == (b.minimums == nullptr);
}

}  // namespace

void multiply_tile(std::int64_t rows, std::int64_t panels, const CodedPanel* coded,
                   const LinearTile& tile) {
  if (panels == 2 && are_alike(coded[0], coded[1])) {
    find_multiply<2>(coded[0], rows)(coded, tile);
    return;
  }
  LinearTile one = tile;
  for (std::int64_t panel = 0; panel < panels; ++panel, one.sums += kLanes) {
    find_multiply<1>(coded[panel], rows)(coded + panel, one);
  }
}

}  // namespace weft::avx512vnni

#endif
