// Decoders of GGUF's blocks of integers and of tables. The include guard is Highway's: each
// instruction set reads the file once. The loops are plain: the compiler vectorises them.
#if defined(WEFT_KERNELS_DECODE_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_DECODE_BLOCKS_INL_H
#undef WEFT_KERNELS_DECODE_BLOCKS_INL_H
#else
#define WEFT_KERNELS_DECODE_BLOCKS_INL_H
#endif

#include <hwy/highway.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/core/encodings.h"
#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/simd/narrow_float.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using Bytes = const std::uint8_t*;

template <class T>
HWY_INLINE T load_bits(Bytes from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

HWY_INLINE float load_f16(Bytes from) { return from_f16(load_bits<std::uint16_t>(from)); }

/// The decoder of an encoding's block: kDecode. Each decoder is registered below its code, and
/// decode_cpu.cc needs one for all of kEncodings: an encoding without a decoder cannot compile.
template <DType kType>
struct Decoder;

using DecodeBlock = void (*)(Bytes block, float* to);

template <DecodeBlock kFunction>
struct Decodes {
  static constexpr DecodeBlock kDecode = kFunction;
};

HWY_INLINE void decode_q8_0(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  for (int i = 0; i < 32; ++i)
    to[i] = scale * static_cast<float>(load_bits<std::int8_t>(block + 2 + i));
}

HWY_INLINE void decode_q4_0(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  for (int i = 0; i < 16; ++i) {
    to[i] = scale * static_cast<float>((block[2 + i] & 15) - 8);
    to[i + 16] = scale * static_cast<float>((block[2 + i] >> 4) - 8);
  }
}

HWY_INLINE void decode_q4_1(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  const float minimum = load_f16(block + 2);
  for (int i = 0; i < 16; ++i) {
    to[i] = scale * static_cast<float>(block[4 + i] & 15) + minimum;
    to[i + 16] = scale * static_cast<float>(block[4 + i] >> 4) + minimum;
  }
}

/// Calls `use` for 32 codes of five bits; `high` has the fifth bits.
template <class Use>
HWY_INLINE void five_bits(std::uint32_t high, Bytes low, const Use& use) {
  for (unsigned i = 0; i < 16; ++i) {
    use(i, (low[i] & 15U) | (high >> i & 1U) << 4U);
    use(i + 16, low[i] >> 4U | (high >> (i + 16) & 1U) << 4U);
  }
}

HWY_INLINE void decode_q5_0(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  five_bits(load_bits<std::uint32_t>(block + 2), block + 6,
            [&](unsigned i, unsigned code)
                HWY_ATTR { to[i] = scale * static_cast<float>(static_cast<int>(code) - 16); });
}

HWY_INLINE void decode_q5_1(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  const float minimum = load_f16(block + 2);
  five_bits(load_bits<std::uint32_t>(block + 4), block + 8,
            [&](unsigned i, unsigned code)
                HWY_ATTR { to[i] = scale * static_cast<float>(static_cast<int>(code)) + minimum; });
}

/// Looks up the numbers of the low halves of 16 bytes, then of the high halves.
HWY_INLINE void look_up(Bytes codes, const std::array<std::int8_t, 16>& table,
                        std::int8_t* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 16; ++i) {
    to[i] = table[codes[i] & 15];
    to[i + 16] = table[codes[i] >> 4];
  }
#else
  const hwy::HWY_NAMESPACE::FixedTag<std::uint8_t, 16> d;
  const auto numbers = LoadU(d, reinterpret_cast<Bytes>(table.data()));
  const auto both = LoadU(d, codes);
  auto* out = reinterpret_cast<std::uint8_t*>(to);
  StoreU(TableLookupBytes(numbers, And(both, Set(d, 15))), d, out);
  StoreU(TableLookupBytes(numbers, hwy::HWY_NAMESPACE::ShiftRight<4>(both)), d, out + 16);
#endif
}

HWY_INLINE void decode_table(Bytes codes, const std::array<std::int8_t, 16>& table, float scale,
                             float* HWY_RESTRICT to) {
  std::array<std::int8_t, 32> numbers;
  look_up(codes, table, numbers.data());
  for (std::size_t i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(numbers[i]);
}

HWY_INLINE void decode_iq4_nl(Bytes block, float* HWY_RESTRICT to) {
  decode_table(block + 2, kIq4Values, load_f16(block), to);
}

HWY_INLINE void decode_iq4_xs(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  const unsigned high = load_bits<std::uint16_t>(block + 2);
  for (std::int64_t g = 0; g < 8; ++g) {
    const int low = block[4 + g / 2] >> (g % 2 * 4) & 15;
    const int code = low | static_cast<int>(high >> (2 * g) & 3U) << 4;
    decode_table(block + 8 + 16 * g, kIq4Values, scale * static_cast<float>(code - 32),
                 to + 32 * g);
  }
}

/// 2^(e - 128): half of the scale 2^(e - 127), since the table's numbers are doubled.
HWY_INLINE float half_of_e8m0(std::uint32_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000U << e : (e - 1) << 23U);
}

HWY_INLINE void decode_mxfp4(Bytes block, float* HWY_RESTRICT to) {
  decode_table(block + 1, kE2M1Values, half_of_e8m0(block[0]), to);
}

HWY_INLINE void decode_q2_k(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block + 80);
  const float minimum = load_f16(block + 82);
  for (std::int64_t g = 0; g < 16; ++g) {
    const float own_scale = scale * static_cast<float>(block[g] & 15);
    const float own_minimum = minimum * static_cast<float>(block[g] >> 4);
    const Bytes codes = block + 16 + g / 8 * 32 + g % 2 * 16;
    const auto shift = g % 8 / 2 * 2;
    for (int i = 0; i < 16; ++i) {
      to[16 * g + i] = own_scale * static_cast<float>(codes[i] >> shift & 3) - own_minimum;
    }
  }
}

HWY_INLINE void decode_q3_k(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block + 108);
  const Bytes scales = block + 96;
  for (std::int64_t g = 0; g < 16; ++g) {
    const int low = scales[g % 8] >> (g / 8 * 4) & 15;
    const int high = scales[8 + g % 4] >> (g / 4 * 2) & 3;
    const float own_scale = scale * static_cast<float>((low | high << 4) - 32);
    const Bytes codes = block + 32 + g / 8 * 32 + g % 2 * 16;
    const Bytes masks = block + g % 2 * 16;
    const auto shift = g % 8 / 2 * 2;
    for (int i = 0; i < 16; ++i) {
      // A code whose third bit is not set is 4 less.
      const int code = (codes[i] >> shift & 3) - 4 + (masks[i] >> (g / 2) & 1) * 4;
      to[16 * g + i] = own_scale * static_cast<float>(code);
    }
  }
}

/// The scales and minimums of the 8 groups of q4_k and q5_k, in 6 bits each.
struct SixBits {
  int scale;
  int minimum;
};
HWY_INLINE SixBits six_bits(Bytes packed, std::int64_t g) {
  if (g < 4) return {packed[g] & 63, packed[g + 4] & 63};
  return {(packed[g + 4] & 15) | (packed[g - 4] >> 2 & 0x30),
          packed[g + 4] >> 4 | (packed[g] >> 2 & 0x30)};
}

/// The factor of the codes of a group of q4_k and q5_k, and the number subtracted afterwards.
struct KGroup {
  float scale;
  float minimum;
};
HWY_INLINE KGroup k_group(Bytes block, std::int64_t g) {
  const SixBits own = six_bits(block + 4, g);
  return {load_f16(block) * static_cast<float>(own.scale),
          load_f16(block + 2) * static_cast<float>(own.minimum)};
}

HWY_INLINE void decode_q4_k(Bytes block, float* HWY_RESTRICT to) {
  for (std::int64_t g = 0; g < 8; ++g) {
    const auto [own_scale, own_minimum] = k_group(block, g);
    const Bytes codes = block + 16 + g / 2 * 32;
    const auto shift = g % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      to[32 * g + i] = own_scale * static_cast<float>(codes[i] >> shift & 15) - own_minimum;
    }
  }
}

HWY_INLINE void decode_q5_k(Bytes block, float* HWY_RESTRICT to) {
  for (std::int64_t g = 0; g < 8; ++g) {
    const auto [own_scale, own_minimum] = k_group(block, g);
    const Bytes high = block + 16;
    const Bytes codes = block + 48 + g / 2 * 32;
    const auto shift = g % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      const int code = (codes[i] >> shift & 15) | (high[i] >> g & 1) << 4;
      to[32 * g + i] = own_scale * static_cast<float>(code) - own_minimum;
    }
  }
}

HWY_INLINE void decode_q6_k(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block + 208);
  for (std::int64_t g = 0; g < 16; ++g) {
    const float own_scale = scale * static_cast<float>(load_bits<std::int8_t>(block + 192 + g));
    const std::int64_t in_half = g % 8 * 16;  // the group's first weight within its half of 128
    const Bytes low = block + g / 8 * 64 + in_half % 64;
    const Bytes high = block + 128 + g / 8 * 32 + in_half % 32;
    const auto low_shift = in_half / 64 * 4;
    const auto high_shift = in_half / 32 * 2;
    for (int i = 0; i < 16; ++i) {
      const int code = (low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4;
      to[16 * g + i] = own_scale * static_cast<float>(code - 32);
    }
  }
}

/// Decodes `count` bytes. Each holds `digits` digits to base 3, as a fraction of 256.
HWY_INLINE void decode_ternary(Bytes codes, std::int64_t count, std::int64_t digits, float scale,
                               float* HWY_RESTRICT to) {
  unsigned power = 1;
  for (std::int64_t digit = 0; digit < digits; ++digit, power *= 3) {
    for (std::int64_t i = 0; i < count; ++i) {
      const int code = static_cast<int>((codes[i] * power & 255U) * 3 >> 8U);
      to[digit * count + i] = scale * static_cast<float>(code - 1);
    }
  }
}

HWY_INLINE void decode_tq1_0(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block + 52);
  decode_ternary(block, 32, 5, scale, to);
  decode_ternary(block + 32, 16, 5, scale, to + 160);
  decode_ternary(block + 48, 4, 4, scale, to + 240);
}

HWY_INLINE void decode_tq2_0(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block + 64);
  for (std::int64_t g = 0; g < 8; ++g) {
    const Bytes codes = block + g / 4 * 32;
    const auto shift = g % 4 * 2;
    for (int i = 0; i < 32; ++i) {
      to[32 * g + i] = scale * static_cast<float>((codes[i] >> shift & 3) - 1);
    }
  }
}

template <>
struct Decoder<DType::kQ8_0> : Decodes<decode_q8_0> {};
template <>
struct Decoder<DType::kQ4_0> : Decodes<decode_q4_0> {};
template <>
struct Decoder<DType::kQ4_1> : Decodes<decode_q4_1> {};
template <>
struct Decoder<DType::kQ5_0> : Decodes<decode_q5_0> {};
template <>
struct Decoder<DType::kQ5_1> : Decodes<decode_q5_1> {};
template <>
struct Decoder<DType::kQ2_K> : Decodes<decode_q2_k> {};
template <>
struct Decoder<DType::kQ3_K> : Decodes<decode_q3_k> {};
template <>
struct Decoder<DType::kQ4_K> : Decodes<decode_q4_k> {};
template <>
struct Decoder<DType::kQ5_K> : Decodes<decode_q5_k> {};
template <>
struct Decoder<DType::kQ6_K> : Decodes<decode_q6_k> {};
template <>
struct Decoder<DType::kIQ4_NL> : Decodes<decode_iq4_nl> {};
template <>
struct Decoder<DType::kIQ4_XS> : Decodes<decode_iq4_xs> {};
template <>
struct Decoder<DType::kTQ1_0> : Decodes<decode_tq1_0> {};
template <>
struct Decoder<DType::kTQ2_0> : Decodes<decode_tq2_0> {};
template <>
struct Decoder<DType::kMXFP4> : Decodes<decode_mxfp4> {};

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_DECODE_BLOCKS_INL_H
