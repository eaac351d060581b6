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

#define WEFT_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,f16c")))

namespace weft::avx512vnni {
namespace {

constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;
constexpr std::int64_t kCodeWords = 8;  // of a block of a row

// --- The multiplication.

/// Words of a row's block after its codes.
constexpr std::int64_t kScaleWord = kCodeWords;
constexpr std::int64_t kSumWord = kScaleWord + 1;

template <int kRows, int kPanels, int kGroupWords, bool kHasMinimum, bool kIsSigned>
WEFT_TARGET void multiply(const CodedPanel* coded, const LinearTile& tile) {
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
    for (int group = 0; group < kGroups; ++group) {
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
  const auto& table = coded.is_signed             ? kSigned
                      : coded.group_words == 4    ? kHalves
                      : coded.minimums != nullptr ? kWithMinimum
                                                  : kPlain;
  return table[static_cast<std::size_t>(rows - 1)];
}

bool are_alike(const CodedPanel& a, const CodedPanel& b) {
  return a.offset == b.offset && a.group_words == b.group_words && a.is_signed == b.is_signed &&
         (a.minimums == nullptr) == (b.minimums == nullptr);
}

// --- Unpacking.

struct Four {
  __m512i words[4];
};

/// 16 bytes of each of 16 blocks that stand `stride` bytes apart, as four words of 16 lanes.
WEFT_TARGET inline Four load_lanes(const std::byte* from, std::int64_t stride) {
  __m512i parts[4];  // part j of the k-th is lane 4j + k
  WEFT_UNROLL
  for (int k = 0; k < 4; ++k) {
    const auto lane = [&](int j) WEFT_TARGET {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + (4 * j + k) * stride));
    };
    parts[k] = _mm512_castsi128_si512(lane(0));
    parts[k] = _mm512_inserti32x4(parts[k], lane(1), 1);
    parts[k] = _mm512_inserti32x4(parts[k], lane(2), 2);
    parts[k] = _mm512_inserti32x4(parts[k], lane(3), 3);
  }
  const __m512i a = _mm512_unpacklo_epi32(parts[0], parts[1]);
  const __m512i b = _mm512_unpackhi_epi32(parts[0], parts[1]);
  const __m512i c = _mm512_unpacklo_epi32(parts[2], parts[3]);
  const __m512i d = _mm512_unpackhi_epi32(parts[2], parts[3]);
  return {{_mm512_unpacklo_epi64(a, c), _mm512_unpackhi_epi64(a, c), _mm512_unpacklo_epi64(b, d),
           _mm512_unpackhi_epi64(b, d)}};
}

/// The f16 of each of 16 blocks.
WEFT_TARGET inline __m512 load_f16(const std::byte* from, std::int64_t stride) {
  alignas(32) std::array<std::uint16_t, kLanes> bits;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    std::memcpy(&bits[static_cast<std::size_t>(lane)], from + lane * stride, sizeof(bits[0]));
  }
  return _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(bits.data())));
}

/// The low half of every byte, or the high one.
template <int kShift>
WEFT_TARGET inline __m512i half_bytes(__m512i bytes) {
  return _mm512_and_si512(_mm512_srli_epi16(bytes, kShift), _mm512_set1_epi8(15));
}

WEFT_TARGET inline void store(std::byte* codes, std::int64_t word, __m512i value) {
  _mm512_store_si512(codes + word * 64, value);
}

/// A block of 32: a scale, then 16 bytes of half-bytes.
WEFT_TARGET void unpack_q4_0(const std::byte* from, std::byte* codes, float* scales) {
  constexpr std::int64_t kBytes = 18;
  _mm512_store_ps(scales, load_f16(from, kBytes));
  const Four four = load_lanes(from + 2, kBytes);
  WEFT_UNROLL
  for (int word = 0; word < 4; ++word) {
    store(codes, word, half_bytes<0>(four.words[word]));
    store(codes, word + 4, half_bytes<4>(four.words[word]));
  }
}

/// (words >> shift) & mask as floats.
WEFT_TARGET inline __m512i bits_of(__m512i words, int shift, int mask) {
  return _mm512_and_si512(_mm512_srli_epi32(words, static_cast<unsigned>(shift)),
                          _mm512_set1_epi32(mask));
}

WEFT_TARGET void unpack_q4_k(const std::byte* from, std::byte* codes, float* scales,
                             float* minimums) {
  constexpr std::int64_t kBytes = 144;
  const Four head = load_lanes(from, kBytes);  // scale and minimum, then 12 bytes of sixes
  const __m512 scale = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(head.words[0]));
  const __m512 minimum =
      _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(head.words[0], 16)));
  const __m512 minus = _mm512_sub_ps(_mm512_setzero_ps(), minimum);
  for (int group = 0; group < 8; ++group) {
    const int at = group % 4 * 8;
    __m512i own_scale = bits_of(head.words[1], at, 63);
    __m512i own_minimum = bits_of(head.words[2], at, 63);
    if (group >= 4) {
      own_scale = _mm512_or_si512(bits_of(head.words[3], at, 15),
                                  _mm512_slli_epi32(bits_of(head.words[1], at + 6, 3), 4));
      own_minimum = _mm512_or_si512(bits_of(head.words[3], at + 4, 15),
                                    _mm512_slli_epi32(bits_of(head.words[2], at + 6, 3), 4));
    }
    _mm512_store_ps(scales + group * kLanes, _mm512_mul_ps(scale, _mm512_cvtepi32_ps(own_scale)));
    _mm512_store_ps(minimums + group * kLanes,
                    _mm512_mul_ps(minus, _mm512_cvtepi32_ps(own_minimum)));
  }
  for (std::int64_t part = 0; part < 8; ++part) {
    const Four four = load_lanes(from + 16 + 16 * part, kBytes);
    const std::int64_t to = part / 2 * 16 + part % 2 * 4;
    WEFT_UNROLL
    for (int word = 0; word < 4; ++word) {
      store(codes, to + word, half_bytes<0>(four.words[word]));
      store(codes, to + word + 8, half_bytes<4>(four.words[word]));
    }
  }
}

/// Two bits of every byte, as the fifth and the sixth.
WEFT_TARGET inline __m512i high_bits(__m512i bytes, int shift) {
  const __m512i moved = _mm512_srli_epi16(bytes, static_cast<unsigned>(shift));
  return _mm512_slli_epi16(_mm512_and_si512(moved, _mm512_set1_epi8(3)), 4);
}

WEFT_TARGET void unpack_q6_k(const std::byte* from, std::byte* codes, float* scales) {
  constexpr std::int64_t kBytes = 210;
  const __m512 scale = load_f16(from + 208, kBytes);
  const Four groups = load_lanes(from + 192, kBytes);
  for (int group = 0; group < 16; ++group) {
    const __m512i top =
        _mm512_slli_epi32(groups.words[group / 4], static_cast<unsigned>(24 - group % 4 * 8));
    const __m512 own = _mm512_cvtepi32_ps(_mm512_srai_epi32(top, 24));
    _mm512_store_ps(scales + group * kLanes, _mm512_mul_ps(scale, own));
  }
  for (std::int64_t half = 0; half < 2; ++half) {
    for (std::int64_t pair = 0; pair < 2; ++pair) {
      const Four high = load_lanes(from + 128 + half * 32 + pair * 16, kBytes);
      for (std::int64_t quarter = 0; quarter < 2; ++quarter) {
        const std::int64_t part = quarter * 2 + pair;  // of the half's 64 bytes, 16 each
        const Four low = load_lanes(from + half * 64 + part * 16, kBytes);
        const int shift = static_cast<int>(quarter) * 2;
        const std::int64_t to = half * 32 + part * 4;
        WEFT_UNROLL
        for (int word = 0; word < 4; ++word) {
          store(
              codes, to + word,
              _mm512_or_si512(half_bytes<0>(low.words[word]), high_bits(high.words[word], shift)));
          store(codes, to + word + 16,
                _mm512_or_si512(half_bytes<4>(low.words[word]),
                                high_bits(high.words[word], shift + 4)));
        }
      }
    }
  }
}

WEFT_TARGET void unpack_q8_0_scales(const std::byte* from, std::int64_t blocks, float* scales) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto* at = reinterpret_cast<const __m256i*>(from + block * kLanes * 2);
    _mm512_store_ps(scales + block * kLanes, _mm512_cvtph_ps(_mm256_loadu_si256(at)));
  }
}

}  // namespace

bool has_codes(DType dtype) noexcept {
  return dtype == DType::kQ8_0 || dtype == DType::kQ4_0 || dtype == DType::kQ4_K ||
         dtype == DType::kQ6_K;
}

CodedPanel unpack(const PackedPanel& panel, std::int64_t first, std::int64_t count,
                  CodedGroup::Room& room) {
  const PackedLayout& layout = *panel.layout;
  CodedPanel coded{.codes = room.codes.data(), .scales = room.scales.data()};
  if (layout.dtype == DType::kQ8_0) {
    coded.codes = panel.data + layout.offset(0, first);
    coded.offset = 128;
    coded.is_signed = true;
    unpack_q8_0_scales(panel.data + layout.scale_offset(0, first), count / 32, room.scales.data());
    return coded;
  }
  if (layout.dtype == DType::kQ4_0) coded.offset = 8;
  if (layout.dtype == DType::kQ4_K) coded.minimums = room.minimums.data();
  if (layout.dtype == DType::kQ6_K) {
    coded.offset = 32;
    coded.group_words = 4;
  }
  const std::int64_t elements = block_of(layout.dtype).elements;
  for (std::int64_t input = 0; input < count; input += elements) {
    const std::byte* from = panel.data + layout.block_offset(0, first + input);
    std::byte* codes = room.codes.data() + input * kLanes;
    const std::int64_t groups = input / (4 * coded.group_words) * kLanes;
    float* scales = room.scales.data() + groups;
    if (layout.dtype == DType::kQ4_0) unpack_q4_0(from, codes, scales);
    if (layout.dtype == DType::kQ4_K)
      unpack_q4_k(from, codes, scales, room.minimums.data() + groups);
    if (layout.dtype == DType::kQ6_K) unpack_q6_k(from, codes, scales);
  }
  return coded;
}

// Plain loops, of which the compiler makes SIMD code.
WEFT_TARGET void pack_row(const float* row, std::int64_t inputs, std::uint32_t* to,
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
