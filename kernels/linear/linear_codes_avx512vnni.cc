#include "weft/kernels/linear/linear_codes_avx512vnni.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/simd/unroll.h"

#define WEFT_CODES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

namespace weft::avx512vnni {
namespace {

constexpr std::int64_t kOutputs = PackedLayout::kPanelOutputs;
constexpr std::int64_t kWordBytes = kOutputs * 4;

/// Where one row of blocks is unpacked to: the inputs of a block, for 16 outputs.
struct Unpacked {
  std::byte* codes;
  float* scales;
  float* minimums;

  WEFT_CODES void put_codes(std::int64_t word, __m512i value) const {
    _mm512_store_si512(codes + word * kWordBytes, value);
  }
  WEFT_CODES void put_scale(std::int64_t group, __m512 value) const {
    _mm512_store_ps(scales + group * kOutputs, value);
  }
  WEFT_CODES void put_minimum(std::int64_t group, __m512 value) const {
    _mm512_store_ps(minimums + group * kOutputs, value);
  }
};

/// Blocks of 16 outputs, which stand side by side; `from` is in the first.
struct Blocks {
  const std::byte* from;
  std::int64_t bytes;

  [[nodiscard]] Blocks at(std::int64_t offset) const { return {from + offset, bytes}; }
};

struct Four {
  __m512i words[4];
};

/// 16 bytes of each block as four words of 16 lanes.
WEFT_CODES inline Four load_lanes(const Blocks& blocks) {
  __m512i parts[4];  // part j of the k-th is lane 4j + k
  WEFT_UNROLL
  for (int k = 0; k < 4; ++k) {
    const auto lane = [&](int j) WEFT_CODES {
      return _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(blocks.from + (4 * j + k) * blocks.bytes));
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

/// A number of type T of each block.
template <class T>
WEFT_CODES inline __m512i load_each(const Blocks& blocks) {
  alignas(64) std::array<std::uint32_t, kOutputs> numbers;
  for (std::int64_t lane = 0; lane < kOutputs; ++lane) {
    T number;
    std::memcpy(&number, blocks.from + lane * blocks.bytes, sizeof(number));
    numbers[static_cast<std::size_t>(lane)] = number;
  }
  return _mm512_load_si512(numbers.data());
}

/// What the low 16 bits of each word are as f16.
WEFT_CODES inline __m512 from_halves(__m512i words) {
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
}
WEFT_CODES inline __m512 load_f16(const Blocks& blocks) {
  return from_halves(load_each<std::uint16_t>(blocks));
}

/// (words >> shift) & mask.
WEFT_CODES inline __m512i bits_of(__m512i words, int shift, int mask) {
  return _mm512_and_si512(_mm512_srli_epi32(words, static_cast<unsigned>(shift)),
                          _mm512_set1_epi32(mask));
}
/// Byte `index` of 16.
WEFT_CODES inline __m512i byte_of(const Four& four, int index) {
  return bits_of(four.words[index / 4], index % 4 * 8, 255);
}
/// (byte >> shift) & mask for every byte; the mask is of bits that stay in their byte.
WEFT_CODES inline __m512i bytes_of(__m512i bytes, int shift, int mask) {
  return _mm512_and_si512(_mm512_srli_epi16(bytes, static_cast<unsigned>(shift)),
                          _mm512_set1_epi8(static_cast<char>(mask)));
}
WEFT_CODES inline __m512i low_halves(__m512i bytes) { return bytes_of(bytes, 0, 15); }
WEFT_CODES inline __m512i high_halves(__m512i bytes) { return bytes_of(bytes, 4, 15); }

/// `bytes` with (high >> shift) & mask put before their first `bits` bits.
template <int kBits>
WEFT_CODES inline __m512i with_high(__m512i bytes, __m512i high, int shift, int mask) {
  return _mm512_or_si512(bytes, _mm512_slli_epi16(bytes_of(high, shift, mask), kBits));
}

// --- Blocks of 32: the low halves of 16 bytes, then the high ones.

template <class Use>
WEFT_CODES inline void for_half_bytes(const Blocks& codes, const Use& use) {
  const Four four = load_lanes(codes);
  WEFT_UNROLL
  for (int word = 0; word < 4; ++word) {
    use(word, low_halves(four.words[word]));
    use(word + 4, high_halves(four.words[word]));
  }
}

WEFT_CODES void unpack_q4_0(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  for_half_bytes(blocks.at(2),
                 [&](int word, __m512i codes) WEFT_CODES { to.put_codes(word, codes); });
}

WEFT_CODES void unpack_q4_1(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  to.put_minimum(0, load_f16(blocks.at(2)));
  for_half_bytes(blocks.at(4),
                 [&](int word, __m512i codes) WEFT_CODES { to.put_codes(word, codes); });
}

/// Four bits of each word, from bit 4 * word on, become the fifth bits of its bytes.
WEFT_CODES inline __m512i fifth_bits(__m512i high, int word) {
  const __m512i spread =
      _mm512_mullo_epi32(bits_of(high, 4 * word, 15), _mm512_set1_epi32(0x00204081));
  return _mm512_slli_epi32(_mm512_and_si512(spread, _mm512_set1_epi32(0x01010101)), 4);
}

WEFT_CODES void unpack_five(const Blocks& codes, __m512i high, const Unpacked& to) {
  for_half_bytes(codes, [&](int word, __m512i low) WEFT_CODES {
    to.put_codes(word, _mm512_or_si512(low, fifth_bits(high, word)));
  });
}

WEFT_CODES void unpack_q5_0(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  unpack_five(blocks.at(6), load_each<std::uint32_t>(blocks.at(2)), to);
}

WEFT_CODES void unpack_q5_1(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  to.put_minimum(0, load_f16(blocks.at(2)));
  unpack_five(blocks.at(8), load_each<std::uint32_t>(blocks.at(4)), to);
}

/// The table's numbers plus the offset, for every byte's code.
template <std::int32_t kOffset>
WEFT_CODES void unpack_table(const Blocks& codes, const std::array<std::int8_t, 16>& table,
                             int first_word, const Unpacked& to) {
  const __m128i numbers =
      _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table.data())),
                   _mm_set1_epi8(static_cast<char>(kOffset)));
  const __m512i all = _mm512_broadcast_i32x4(numbers);
  for_half_bytes(codes, [&](int word, __m512i index) WEFT_CODES {
    to.put_codes(first_word + word, _mm512_shuffle_epi8(all, index));
  });
}

constexpr std::int32_t kIq4Offset = 128;
constexpr std::int32_t kE2M1Offset = 12;

WEFT_CODES void unpack_iq4_nl(const Blocks& blocks, const Unpacked& to) {
  to.put_scale(0, load_f16(blocks));
  unpack_table<kIq4Offset>(blocks.at(2), kIq4Values, 0, to);
}

WEFT_CODES void unpack_mxfp4(const Blocks& blocks, const Unpacked& to) {
  const __m512i exponent = load_each<std::uint8_t>(blocks);
  // 2^(e - 128); the two smallest are subnormal.
  const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(exponent, _mm512_set1_epi32(1)), 23);
  const __m512i small = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), exponent);
  const __mmask16 is_small = _mm512_cmplt_epu32_mask(exponent, _mm512_set1_epi32(2));
  to.put_scale(0, _mm512_castsi512_ps(_mm512_mask_blend_epi32(is_small, normal, small)));
  unpack_table<kE2M1Offset>(blocks.at(1), kE2M1Values, 0, to);
}

// --- Blocks of 256.

WEFT_CODES void unpack_iq4_xs(const Blocks& blocks, const Unpacked& to) {
  const __m512 scale = load_f16(blocks);
  const __m512i high = load_each<std::uint16_t>(blocks.at(2));
  const __m512i low = load_each<std::uint32_t>(blocks.at(4));
  for (int group = 0; group < 8; ++group) {
    const __m512i code = _mm512_or_si512(bits_of(low, 4 * group, 15),
                                         _mm512_slli_epi32(bits_of(high, 2 * group, 3), 4));
    const __m512i centred = _mm512_sub_epi32(code, _mm512_set1_epi32(32));
    to.put_scale(group, _mm512_mul_ps(scale, _mm512_cvtepi32_ps(centred)));
    unpack_table<kIq4Offset>(blocks.at(8 + 16 * group), kIq4Values, 8 * group, to);
  }
}

/// The head of q4_k and q5_k: scale and minimum, then 12 bytes of sixes.
WEFT_CODES inline void unpack_sixes(const Blocks& blocks, const Unpacked& to) {
  const Four head = load_lanes(blocks);
  const __m512 scale = from_halves(head.words[0]);
  const __m512 minimum = from_halves(_mm512_srli_epi32(head.words[0], 16));
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
    to.put_scale(group, _mm512_mul_ps(scale, _mm512_cvtepi32_ps(own_scale)));
    to.put_minimum(group, _mm512_mul_ps(minus, _mm512_cvtepi32_ps(own_minimum)));
  }
}

WEFT_CODES void unpack_q4_k(const Blocks& blocks, const Unpacked& to) {
  unpack_sixes(blocks, to);
  for (std::int64_t part = 0; part < 8; ++part) {
    const Four low = load_lanes(blocks.at(16 + 16 * part));
    const std::int64_t first = part / 2 * 16 + part % 2 * 4;
    WEFT_UNROLL
    for (int word = 0; word < 4; ++word) {
      to.put_codes(first + word, low_halves(low.words[word]));
      to.put_codes(first + word + 8, high_halves(low.words[word]));
    }
  }
}

WEFT_CODES void unpack_q5_k(const Blocks& blocks, const Unpacked& to) {
  unpack_sixes(blocks, to);
  for (std::int64_t side = 0; side < 2; ++side) {
    const Four high = load_lanes(blocks.at(16 + 16 * side));
    for (std::int64_t pair = 0; pair < 4; ++pair) {
      const Four low = load_lanes(blocks.at(48 + 32 * pair + 16 * side));
      const std::int64_t first = pair * 16 + side * 4;
      const int bit = static_cast<int>(pair) * 2;
      WEFT_UNROLL
      for (int word = 0; word < 4; ++word) {
        to.put_codes(first + word,
                     with_high<4>(low_halves(low.words[word]), high.words[word], bit, 1));
        to.put_codes(first + word + 8,
                     with_high<4>(high_halves(low.words[word]), high.words[word], bit + 1, 1));
      }
    }
  }
}

WEFT_CODES void unpack_q6_k(const Blocks& blocks, const Unpacked& to) {
  const __m512 scale = load_f16(blocks.at(208));
  const Four groups = load_lanes(blocks.at(192));
  for (int group = 0; group < 16; ++group) {
    const __m512i top = _mm512_slli_epi32(byte_of(groups, group), 24);
    to.put_scale(group, _mm512_mul_ps(scale, _mm512_cvtepi32_ps(_mm512_srai_epi32(top, 24))));
  }
  for (std::int64_t half = 0; half < 2; ++half) {
    for (std::int64_t part = 0; part < 4; ++part) {  // 16 of the half's 64 bytes
      const Four high = load_lanes(blocks.at(128 + half * 32 + part % 2 * 16));
      const Four low = load_lanes(blocks.at(half * 64 + part * 16));
      const int shift = static_cast<int>(part / 2) * 2;
      const std::int64_t first = half * 32 + part * 4;
      WEFT_UNROLL
      for (int word = 0; word < 4; ++word) {
        to.put_codes(first + word,
                     with_high<4>(low_halves(low.words[word]), high.words[word], shift, 3));
        to.put_codes(first + word + 16,
                     with_high<4>(high_halves(low.words[word]), high.words[word], shift + 4, 3));
      }
    }
  }
}

WEFT_CODES void unpack_q2_k(const Blocks& blocks, const Unpacked& to) {
  const __m512 scale = load_f16(blocks.at(80));
  const __m512 minus = _mm512_sub_ps(_mm512_setzero_ps(), load_f16(blocks.at(82)));
  const Four groups = load_lanes(blocks);
  for (int group = 0; group < 16; ++group) {
    const __m512i both = byte_of(groups, group);
    to.put_scale(group, _mm512_mul_ps(scale, _mm512_cvtepi32_ps(bits_of(both, 0, 15))));
    to.put_minimum(group, _mm512_mul_ps(minus, _mm512_cvtepi32_ps(bits_of(both, 4, 15))));
  }
  for (std::int64_t part = 0; part < 4; ++part) {
    const Four four = load_lanes(blocks.at(16 + 16 * part));
    for (int pair = 0; pair < 4; ++pair) {
      const std::int64_t first = part / 2 * 32 + std::int64_t{pair} * 8 + part % 2 * 4;
      WEFT_UNROLL
      for (int word = 0; word < 4; ++word) {
        to.put_codes(first + word, bytes_of(four.words[word], 2 * pair, 3));
      }
    }
  }
}

WEFT_CODES void unpack_q3_k(const Blocks& blocks, const Unpacked& to) {
  const Four tail = load_lanes(blocks.at(94));  // two bytes of codes, 12 of sixes, the scale
  const __m512 scale = from_halves(_mm512_srli_epi32(tail.words[3], 16));
  for (int group = 0; group < 16; ++group) {
    const __m512i low = bits_of(byte_of(tail, 2 + group % 8), group / 8 * 4, 15);
    const __m512i high = bits_of(byte_of(tail, 10 + group % 4), group / 4 * 2, 3);
    const __m512i centred =
        _mm512_sub_epi32(_mm512_or_si512(low, _mm512_slli_epi32(high, 4)), _mm512_set1_epi32(32));
    to.put_scale(group, _mm512_mul_ps(scale, _mm512_cvtepi32_ps(centred)));
  }
  for (std::int64_t part = 0; part < 4; ++part) {
    const Four four = load_lanes(blocks.at(32 + 16 * part));
    const Four third = load_lanes(blocks.at(part % 2 * 16));
    for (int pair = 0; pair < 4; ++pair) {
      const std::int64_t first = part / 2 * 32 + std::int64_t{pair} * 8 + part % 2 * 4;
      const int bit = static_cast<int>(part / 2) * 4 + pair;
      WEFT_UNROLL
      for (int word = 0; word < 4; ++word) {
        const __m512i low = bytes_of(four.words[word], 2 * pair, 3);
        to.put_codes(first + word, with_high<2>(low, third.words[word], bit, 1));
      }
    }
  }
}

/// How blocks of one encoding are unpacked, and what CodedPanel says of them.
struct Unpacker {
  DType dtype;
  std::int32_t offset;
  std::int32_t group_words;
  bool has_minimum;
  void (*unpack)(const Blocks&, const Unpacked&);
};

constexpr std::array kUnpackers = {
    Unpacker{DType::kQ4_0, 8, 8, false, unpack_q4_0},
    Unpacker{DType::kQ4_1, 0, 8, true, unpack_q4_1},
    Unpacker{DType::kQ5_0, 16, 8, false, unpack_q5_0},
    Unpacker{DType::kQ5_1, 0, 8, true, unpack_q5_1},
    Unpacker{DType::kQ2_K, 0, 4, true, unpack_q2_k},
    Unpacker{DType::kQ3_K, 4, 4, false, unpack_q3_k},
    Unpacker{DType::kQ4_K, 0, 8, true, unpack_q4_k},
    Unpacker{DType::kQ5_K, 0, 8, true, unpack_q5_k},
    Unpacker{DType::kQ6_K, 32, 4, false, unpack_q6_k},
    Unpacker{DType::kIQ4_NL, kIq4Offset, 8, false, unpack_iq4_nl},
    Unpacker{DType::kIQ4_XS, kIq4Offset, 8, false, unpack_iq4_xs},
    Unpacker{DType::kMXFP4, kE2M1Offset, 8, false, unpack_mxfp4},
};

/// The codes of q8_0 are multiplied where they stand.
WEFT_CODES CodedPanel use_q8_0(const PackedPanel& panel, std::int64_t first, std::int64_t count,
                               CodedGroup::Room& room) {
  const PackedLayout& layout = *panel.layout;
  const std::byte* scales = panel.data + layout.scale_offset(0, first);
  for (std::int64_t block = 0; block < count / PackedLayout::kBlock; ++block) {
    const auto* at = reinterpret_cast<const __m256i*>(scales + block * kOutputs * 2);
    _mm512_store_ps(room.scales.data() + block * kOutputs, _mm512_cvtph_ps(_mm256_loadu_si256(at)));
  }
  return {.codes = panel.data + layout.offset(0, first),
          .scales = room.scales.data(),
          .offset = 128,
          .is_signed = true};
}

}  // namespace

bool has_codes(DType dtype) noexcept {
  return dtype == DType::kQ8_0 ||
         std::ranges::find(kUnpackers, dtype, &Unpacker::dtype) != kUnpackers.end();
}

CodedPanel unpack(const PackedPanel& panel, std::int64_t first, std::int64_t count,
                  CodedGroup::Room& room) {
  const PackedLayout& layout = *panel.layout;
  if (layout.dtype == DType::kQ8_0) return use_q8_0(panel, first, count, room);
  const auto& unpacker = *std::ranges::find(kUnpackers, layout.dtype, &Unpacker::dtype);
  const DTypeBlock block = block_of(layout.dtype);
  const std::int64_t groups = block.elements / (std::int64_t{4} * unpacker.group_words);
  const std::byte* from = panel.data + layout.block_offset(0, first);
  for (std::int64_t i = 0; i < count / block.elements; ++i) {
    const std::int64_t group = i * groups * kOutputs;
    unpacker.unpack({from + i * kOutputs * block.bytes, block.bytes},
                    {.codes = room.codes.data() + i * block.elements * kOutputs,
                     .scales = room.scales.data() + group,
                     .minimums = room.minimums.data() + group});
  }
  return {.codes = room.codes.data(),
          .scales = room.scales.data(),
          .minimums = unpacker.has_minimum ? room.minimums.data() : nullptr,
          .offset = unpacker.offset,
          .group_words = unpacker.group_words};
}

}  // namespace weft::avx512vnni

#else

namespace weft::avx512vnni {
bool has_codes(DType /*dtype*/) noexcept { return false; }
}  // namespace weft::avx512vnni

#endif
