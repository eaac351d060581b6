#include "weft/kernels/linear/linear_cpu_avx512vnni.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace weft::avx512vnni {
namespace {

constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;
constexpr std::int64_t kCodeWords = 8;  // of a block of a row

/// Words of a row's block after its codes.
constexpr std::int64_t kScaleWord = kCodeWords;
constexpr std::int64_t kSumWord = kScaleWord + 1;

template <int kRows, int kPanels, int kGroupWords, bool kHasMinimum, bool kIsSigned>
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
  constexpr int kGroups = static_cast<int>(kCodeWords) / kGroupWords;
  const __m512i minus_offset = _mm512_set1_epi32(-coded[0].offset);
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  const std::uint32_t* row = tile.rows;
  const std::int64_t blocks = tile.words / kBlockWords;
  for (std::int64_t block = 0; block < blocks; ++block, row += kBlockWords * kRows) {
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
          products[r][p] = _mm512_mullo_epi32(codes_sum[r], minus_offset);
        }
      }
      WEFT_UNROLL
      for (int word = 0; word < kGroupWords; ++word) {
        __m512i weights[kPanels];
        WEFT_UNROLL
        for (int p = 0; p < kPanels; ++p) {
          weights[p] = _mm512_load_si512(coded[p].codes + (index * kGroupWords + word) * 64);
          if (kIsSigned) weights[p] = _mm512_xor_si512(weights[p], flip);
        }
        WEFT_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const std::uint32_t four = row[(group * kGroupWords + word) * kRows + r];
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
          if (kHasMinimum) {
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

template <int kPanels, int kGroupWords, bool kHasMinimum, bool kIsSigned, std::size_t... kIndex>
constexpr std::array<Multiply, sizeof...(kIndex)> table_of(
    std::index_sequence<kIndex...> /*rows*/) {
  return {multiply<static_cast<int>(kIndex) + 1, kPanels, kGroupWords, kHasMinimum, kIsSigned>...};
}

template <int kPanels>
Multiply find_multiply(const CodedPanel& coded, std::int64_t rows) {
  constexpr auto kRows = std::make_index_sequence<kTileRows>();
  static constexpr auto kSigned = table_of<kPanels, 8, false, true>(kRows);
  static constexpr auto kPlain = table_of<kPanels, 8, false, false>(kRows);
  static constexpr auto kWithMinimum = table_of<kPanels, 8, true, false>(kRows);
  static constexpr auto kHalves = table_of<kPanels, 4, false, false>(kRows);
  static constexpr auto kHalvesWithMinimum = table_of<kPanels, 4, true, false>(kRows);
  const bool minimum = coded.minimums != nullptr;
  const auto& whole = coded.is_signed ? kSigned : minimum ? kWithMinimum : kPlain;
  const auto& halves = minimum ? kHalvesWithMinimum : kHalves;
  const auto& table = coded.group_words == 4 ? halves : whole;
  return table[static_cast<std::size_t>(rows - 1)];
}

bool are_alike(const CodedPanel& a, const CodedPanel& b) {
  return a.offset == b.offset && a.group_words == b.group_words && a.is_signed == b.is_signed &&
         (a.minimums == nullptr) == (b.minimums == nullptr);
}

}  // namespace

// Plain loops, of which the compiler makes SIMD code.
WEFT_VNNI void pack_row(const float* row, std::int64_t inputs, std::uint32_t* to,
                        std::int64_t stride) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  // A block of smaller numbers is zero: 127 over its largest would be infinite.
  constexpr float kLeast = 1e-36F;
  // Added to a number, it leaves the nearest integer in the lowest bits, ties to even.
  constexpr float kRound = 0x1.8p23F;
  for (std::int64_t i = 0; i < inputs; i += kBlockInputs, to += kBlockWords * stride) {
    std::uint32_t most_bits = 0;
    for (std::int64_t j = 0; j < kBlockInputs; ++j) {
      most_bits = std::max(most_bits, std::bit_cast<std::uint32_t>(row[i + j]) & 0x7fffffffU);
    }
    const auto most = std::bit_cast<float>(most_bits);
    const bool is_finite = most_bits < kInfinity;
    const bool is_zero = most < kLeast;
    std::array<std::uint32_t, kCodeWords> words{};
    std::array<std::int32_t, 2> sums{};
    if (is_finite && !is_zero) {
      const float factor = 127 / most;
      std::array<std::int8_t, kBlockInputs> codes;
      for (std::size_t j = 0; j < codes.size(); ++j) {
        const float moved = row[i + static_cast<std::int64_t>(j)] * factor + kRound;
        codes[j] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(moved) & 0xffU);
      }
      for (std::size_t j = 0; j < codes.size(); ++j) sums[j / 16] += codes[j];
      std::memcpy(words.data(), codes.data(), sizeof(codes));
    }
    for (std::size_t word = 0; word < words.size(); ++word) {
      to[static_cast<std::int64_t>(word) * stride] = words[word];
    }
    const float scale = is_zero ? 0 : most / 127;
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    to[kScaleWord * stride] = std::bit_cast<std::uint32_t>(is_finite ? scale : kNone);
    to[kSumWord * stride] = static_cast<std::uint32_t>(sums[0]);
    to[(kSumWord + 1) * stride] = static_cast<std::uint32_t>(sums[1]);
  }
}

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
