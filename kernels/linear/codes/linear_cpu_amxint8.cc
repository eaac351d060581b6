#include "weft/kernels/linear/codes/linear_cpu_amxint8.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <limits>

#include "weft/kernels/linear/linear_plan.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_AMX_INT8 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-int8")))

namespace weft::amxint8 {
namespace {

constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;
constexpr std::int64_t kScaleWord = CodedPlan::kCodeWords;
constexpr std::int64_t kSumWord = kScaleWord + 1;

/// 1.5 * 2^23. Its bits plus an integer below 2^22 are the bits of the f32 kMagic + integer. A sum
/// of integers that begins with these bits becomes f32 without a conversion.
constexpr float kMagic = 0x1.8p23F;
constexpr std::int32_t kMagicBits = 0x4b400000;

alignas(64) constexpr auto kMagicTile = [] {
  std::array<std::int32_t, kTileRows * kLanes> tile{};
  tile.fill(kMagicBits);
  return tile;
}();

/// Tiles 0 and 1 alternate as sums of products; 4 has rows and 6 weights, a group of words each.
AmxShapes shapes_of(std::int64_t room, std::int64_t group_words) {
  const auto rows = static_cast<std::uint8_t>(room);
  AmxShapes shapes;
  shapes.tiles[0] = shapes.tiles[1] = {rows, kLanes * 4};
  shapes.tiles[4] = {rows, static_cast<std::uint16_t>(group_words * 4)};
  shapes.tiles[6] = {static_cast<std::uint8_t>(group_words), kLanes * 4};
  return shapes;
}

/// The properties that a kernel is compiled for.
struct Kind {
  int rows;
  std::int64_t group_words;
  bool has_minimum;
  bool is_signed;  ///< codes are int8
  bool is_magic;   ///< the product of kMagic and a scale is exact
};

template <Kind kKind>
class Multiplication {
 public:
  static constexpr int kRows = kKind.rows;
  static constexpr std::int64_t kGroups = CodedPlan::kCodeWords / kKind.group_words;

  /// A pipeline of three stages, so that no stage waits for another: while one product is computed
  /// in its tile, the previous product is stored and the one before that is added to the sums.
  WEFT_AMX_INT8 static void run(const CodedPanel& coded, const LinearTile& tile,
                                std::int64_t rows) {
    asm volatile("" ::: "memory");  // GCC 12 does not know that tiles are loaded from memory
    alignas(64) std::array<std::array<std::int32_t, kRows * kLanes>, 2> totals;
    __m512 sums[kRows];
    WEFT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      sums[r] = tile.first || r >= rows ? _mm512_setzero_ps()
                                        : _mm512_load_ps(tile.sums + r * LinearPlan::kGroupOutputs);
    }
    const std::int64_t steps = tile.words / kBlockWords * kGroups;
    CodedAhead ahead(coded, tile.fetches, (steps + 1) / 2);
    for (std::int64_t step = 0; step < steps + 2; step += 2) {
      ahead.fetch();
      if (step < steps) multiply<0>(coded, tile, step);
      if (step > 0 && step - 1 < steps) _tile_stored(1, totals[1].data(), kLanes * 4);
      if (step > 1) add(coded, tile, step - 2, totals[0].data(), sums);
      if (step + 1 < steps) multiply<1>(coded, tile, step + 1);
      if (step < steps) _tile_stored(0, totals[0].data(), kLanes * 4);
      if (step > 0 && step - 1 < steps) add(coded, tile, step - 1, totals[1].data(), sums);
    }
    WEFT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (r < rows) _mm512_store_ps(tile.sums + r * LinearPlan::kGroupOutputs, sums[r]);
    }
  }

 private:
  template <int kTile>
  WEFT_AMX_INT8 __attribute__((always_inline)) static void multiply(const CodedPanel& coded,
                                                                    const LinearTile& tile,
                                                                    std::int64_t step) {
    const std::int64_t block = step / kGroups;
    const std::int64_t word = step % kGroups * kKind.group_words;
    _tile_loadd(4, tile.rows + block * kBlockWords * kRows + word, CodedPlan::kCodeWords * 4);
    _tile_loadd(6, coded.codes + step * kKind.group_words * kLanes * 4, kLanes * 4);
    // Tile instructions may be macros with assembly, where tile numbers must be literals.
    if constexpr (kTile == 0) {
      if constexpr (kKind.is_magic) {
        _tile_loadd(0, kMagicTile.data(), kLanes * 4);
      } else {
        _tile_zero(0);
      }
      if constexpr (kKind.is_signed) {
        _tile_dpbssd(0, 4, 6);
      } else {
        _tile_dpbsud(0, 4, 6);
      }
    } else {
      if constexpr (kKind.is_magic) {
        _tile_loadd(1, kMagicTile.data(), kLanes * 4);
      } else {
        _tile_zero(1);
      }
      if constexpr (kKind.is_signed) {
        _tile_dpbssd(1, 4, 6);
      } else {
        _tile_dpbsud(1, 4, 6);
      }
    }
  }

  WEFT_AMX_INT8 __attribute__((always_inline)) static void add(const CodedPanel& coded,
                                                               const LinearTile& tile,
                                                               std::int64_t step,
                                                               const std::int32_t* totals,
                                                               __m512 (&sums)[kRows]) {
    const std::int64_t block = step / kGroups;
    const auto* row = reinterpret_cast<const float*>(tile.rows) + block * kBlockWords * kRows;
    const float* codes_sum = row + (kSumWord + (kGroups == 2 ? step % 2 : 2)) * kRows;
    const __m512 scale = _mm512_load_ps(coded.scales + step * kLanes);
    const __m512 minus_magic = _mm512_mul_ps(scale, _mm512_set1_ps(-kMagic));
    __m512 minimum = scale;
    if constexpr (kKind.has_minimum) minimum = _mm512_load_ps(coded.minimums + step * kLanes);
    WEFT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const __m512i total = _mm512_load_si512(totals + r * kLanes);
      __m512 value;
      if constexpr (kKind.is_magic) {
        value = _mm512_fmadd_ps(_mm512_castsi512_ps(total), scale, minus_magic);
      } else {
        value = _mm512_mul_ps(_mm512_cvtepi32_ps(total), scale);
      }
      if constexpr (kKind.has_minimum) {
        value = _mm512_fmadd_ps(_mm512_set1_ps(codes_sum[r]), minimum, value);
      }
      sums[r] = _mm512_fmadd_ps(_mm512_set1_ps(row[kScaleWord * kRows + r]), value, sums[r]);
    }
  }
};

using Multiply = void (*)(const CodedPanel&, const LinearTile&, std::int64_t);

/// Chooses one bool of Kind at a time; `kChosen` are the bools chosen so far.
template <int kRows, std::int64_t kGroupWords, bool... kChosen>
Multiply find_multiply(const CodedPanel& coded) {
  if constexpr (sizeof...(kChosen) == 3) {
    return Multiplication<Kind{kRows, kGroupWords, kChosen...}>::run;
  } else {
    const bool next[] = {coded.minimums != nullptr, coded.is_signed, !coded.has_wide_scales};
    return next[sizeof...(kChosen)] ? find_multiply<kRows, kGroupWords, kChosen..., true>(coded)
                                    : find_multiply<kRows, kGroupWords, kChosen..., false>(coded);
  }
}

template <int kRows>
Multiply find_multiply_rows(const CodedPanel& coded) {
  return coded.group_words == 4 ? find_multiply<kRows, 4>(coded) : find_multiply<kRows, 8>(coded);
}

}  // namespace

WEFT_AMX_INT8 void pack_row(const float* row, std::int64_t count, std::uint32_t* to, std::int64_t r,
                            std::int64_t rows) {
  // The rule is that of pack_coded_row().
  constexpr int kInfinity = 0x7f800000;
  constexpr float kLeast = 1e-36F;
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  const __m512 round = _mm512_set1_ps(kMagic);
  const std::int64_t room = room_of(rows);
  const auto others = static_cast<__mmask16>((1U << static_cast<unsigned>(room)) -
                                             (1U << static_cast<unsigned>(rows)));
  for (std::int64_t i = 0; i < count; i += CodedPlan::kBlockInputs, to += kBlockWords * room) {
    const __m512 low = _mm512_loadu_ps(row + i);
    const __m512 high = _mm512_loadu_ps(row + i + 16);
    const int most_bits = _mm512_reduce_max_epi32(
        _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(low), magnitude),
                         _mm512_and_si512(_mm512_castps_si512(high), magnitude)));
    const float most = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(most_bits)));
    const bool is_finite = most_bits < kInfinity;
    const bool is_zero = most < kLeast;
    __m128i codes[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
    int sums[2] = {0, 0};
    if (is_finite && !is_zero) {
      const __m512 factor = _mm512_set1_ps(127 / most);
      const __m512 numbers[2] = {low, high};
      for (int half = 0; half < 2; ++half) {
        const __m512 moved = _mm512_add_ps(_mm512_mul_ps(numbers[half], factor), round);
        const __m512i own =
            _mm512_sub_epi32(_mm512_castps_si512(moved), _mm512_set1_epi32(kMagicBits));
        codes[half] = _mm512_cvtepi32_epi8(own);
        sums[half] = _mm512_reduce_add_epi32(own);
      }
    }
    auto* at = reinterpret_cast<__m128i*>(to + r * CodedPlan::kCodeWords);
    _mm_store_si128(at, codes[0]);
    _mm_store_si128(at + 1, codes[1]);
    auto* after = reinterpret_cast<float*>(to + kScaleWord * room) + r;
    after[0] = !is_finite ? kNone : is_zero ? 0 : most / 127;
    after[room] = static_cast<float>(sums[0]);
    after[2 * room] = static_cast<float>(sums[1]);
    after[3 * room] = static_cast<float>(sums[0] + sums[1]);
    if (r + 1 < rows) continue;
    for (std::int64_t word = kScaleWord; word < kBlockWords; ++word) {
      _mm512_mask_storeu_ps(to + word * room, others, _mm512_setzero_ps());
    }
  }
}

WEFT_AMX_INT8 void center(CodedPanel& panel, std::int64_t count) {
  if (panel.is_signed || panel.offset == 0) return;
  auto* codes = reinterpret_cast<__m512i*>(const_cast<std::byte*>(panel.codes));
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(panel.offset));
  for (std::int64_t word = 0; word < count / 4; ++word) {
    codes[word] = _mm512_sub_epi8(codes[word], offset);
  }
  panel.is_signed = true;
}

void multiply_tile(std::int64_t rows, std::int64_t panels, const CodedPanel* coded,
                   const LinearTile& tile, AmxTiles& tiles) {
  LinearTile one = tile;
  for (std::int64_t panel = 0; panel < panels; ++panel, one.sums += kLanes) {
    const CodedPanel& own = coded[panel];
    const std::int64_t room = room_of(rows);
    tiles.shape(shapes_of(room, own.group_words));
    const auto multiply = room == kTileRows ? find_multiply_rows<kTileRows>(own)
                                            : find_multiply_rows<kTileRows / 2>(own);
    multiply(own, one, rows);
  }
}

}  // namespace weft::amxint8

#endif
