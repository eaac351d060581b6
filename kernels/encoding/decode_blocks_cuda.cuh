#pragma once

#include <cstdint>

#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/encoding/eight_cuda.cuh"

/// Decoders of GGUF's blocks of integers and of tables, on GPUs: weights i .. i + 7 of a block.
/// The host's decoders (decode_blocks-inl.h) explain the layouts.
namespace weft::cuda::decoding {

/// A table of 16 numbers in a form that device code can index.
template <class T>
struct Table {
  T at[16];
};
template <class T>
constexpr Table<T> table_of(const std::array<T, 16>& values) {
  Table<T> table{};
  for (std::size_t i = 0; i < 16; ++i) table.at[i] = values[i];
  return table;
}

static __device__ const auto iq4_values = table_of(kIq4Values);
static __device__ const auto e2m1_values = table_of(kE2M1Values);

/// Returns code i + j of 32 codes in 16 bytes, the first 16 in the low halves.
__device__ inline int nibble_of(Bytes codes, int i, int j) {
  return codes[i % 16 + j] >> (i % 32 / 16 * 4) & 15;
}

__device__ inline Eight q8_0(Bytes block, int i) {
  const float scale = half_at(block);
  return eight([&](int j) {
    return times(scale, static_cast<float>(static_cast<std::int8_t>(block[2 + i + j])));
  });
}

__device__ inline Eight q4_0(Bytes block, int i) {
  const float scale = half_at(block);
  return eight(
      [&](int j) { return times(scale, static_cast<float>(nibble_of(block + 2, i, j) - 8)); });
}

__device__ inline Eight q4_1(Bytes block, int i) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  return eight([&](int j) {
    return plus(times(scale, static_cast<float>(nibble_of(block + 4, i, j))), minimum);
  });
}

/// Returns code i + j of 32 codes of five bits; `high` has the fifth bits.
__device__ inline int five_bits(Bytes codes, unsigned high, int i, int j) {
  return nibble_of(codes, i, j) | static_cast<int>(high >> (i + j) & 1U) << 4;
}

__device__ inline Eight q5_0(Bytes block, int i) {
  const float scale = half_at(block);
  const unsigned high = word_at(block + 2);
  return eight([&](int j) {
    return times(scale, static_cast<float>(five_bits(block + 6, high, i, j) - 16));
  });
}

__device__ inline Eight q5_1(Bytes block, int i) {
  const float scale = half_at(block);
  const float minimum = half_at(block + 2);
  const unsigned high = word_at(block + 4);
  return eight([&](int j) {
    return plus(times(scale, static_cast<float>(five_bits(block + 8, high, i, j))), minimum);
  });
}

__device__ inline Eight q2_k(Bytes block, int i) {
  const int group = i / 16;
  const float scale = times(half_at(block + 80), static_cast<float>(block[group] & 15));
  const float minimum = times(half_at(block + 82), static_cast<float>(block[group] >> 4));
  const Bytes codes = block + 16 + group / 8 * 32 + i % 32;
  const int shift = group % 8 / 2 * 2;
  return eight([&](int j) {
    return plus(times(scale, static_cast<float>(codes[j] >> shift & 3)), -minimum);
  });
}

__device__ inline Eight q3_k(Bytes block, int i) {
  const int group = i / 16;
  const int low = block[96 + group % 8] >> (group / 8 * 4) & 15;
  const int high = block[104 + group % 4] >> (group / 4 * 2) & 3;
  const float scale = times(half_at(block + 108), static_cast<float>((low | high << 4) - 32));
  const Bytes codes = block + 32 + group / 8 * 32 + i % 32;
  const Bytes masks = block + i % 32;
  const int shift = group % 8 / 2 * 2;
  return eight([&](int j) {
    const int code = (codes[j] >> shift & 3) - 4 + (masks[j] >> (group / 2) & 1) * 4;
    return times(scale, static_cast<float>(code));
  });
}

struct KGroup {
  float scale;
  float minimum;
};
/// Returns scale and minimum of group g of q4_k and q5_k, which have 6 bits each.
__device__ inline KGroup k_group(Bytes block, int g) {
  const Bytes packed = block + 4;
  const int scale = g < 4 ? packed[g] & 63 : (packed[g + 4] & 15) | (packed[g - 4] >> 2 & 0x30);
  const int minimum = g < 4 ? packed[g + 4] & 63 : packed[g + 4] >> 4 | (packed[g] >> 2 & 0x30);
  return {times(half_at(block), static_cast<float>(scale)),
          times(half_at(block + 2), static_cast<float>(minimum))};
}

__device__ inline Eight q4_k(Bytes block, int i) {
  const int group = i / 32;
  const KGroup own = k_group(block, group);
  const Bytes codes = block + 16 + group / 2 * 32 + i % 32;
  const int shift = group % 2 * 4;
  return eight([&](int j) {
    return plus(times(own.scale, static_cast<float>(codes[j] >> shift & 15)), -own.minimum);
  });
}

__device__ inline Eight q5_k(Bytes block, int i) {
  const int group = i / 32;
  const KGroup own = k_group(block, group);
  const Bytes high = block + 16 + i % 32;
  const Bytes codes = block + 48 + group / 2 * 32 + i % 32;
  const int shift = group % 2 * 4;
  return eight([&](int j) {
    const int code = (codes[j] >> shift & 15) | (high[j] >> group & 1) << 4;
    return plus(times(own.scale, static_cast<float>(code)), -own.minimum);
  });
}

__device__ inline Eight q6_k(Bytes block, int i) {
  const int group = i / 16;
  const auto own = static_cast<std::int8_t>(block[192 + group]);
  const float scale = times(half_at(block + 208), static_cast<float>(own));
  const int in_half = group % 8 * 16;
  const Bytes low = block + group / 8 * 64 + in_half % 64 + i % 16;
  const Bytes high = block + 128 + group / 8 * 32 + in_half % 32 + i % 16;
  const int low_shift = in_half / 64 * 4;
  const int high_shift = in_half / 32 * 2;
  return eight([&](int j) {
    const int code = (low[j] >> low_shift & 15) | (high[j] >> high_shift & 3) << 4;
    return times(scale, static_cast<float>(code - 32));
  });
}

__device__ inline Eight iq4(Bytes codes, int i, float scale) {
  return eight([&](int j) {
    return times(scale, static_cast<float>(iq4_values.at[nibble_of(codes, i, j)]));
  });
}

__device__ inline Eight iq4_nl(Bytes block, int i) { return iq4(block + 2, i, half_at(block)); }

__device__ inline Eight iq4_xs(Bytes block, int i) {
  const int group = i / 32;
  const int low = block[4 + group / 2] >> (group % 2 * 4) & 15;
  const int code = low | static_cast<int>(short_at(block + 2) >> (2 * group) & 3U) << 4;
  return iq4(block + 8 + 16 * group, i, times(half_at(block), static_cast<float>(code - 32)));
}

__device__ inline Eight mxfp4(Bytes block, int i) {
  const unsigned exponent = block[0];
  // Half of the scale 2^(e - 127), since the table's numbers are doubled.
  const float scale =
      __uint_as_float(exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23U);
  return eight([&](int j) {
    return times(scale, static_cast<float>(e2m1_values.at[nibble_of(block + 1, i, j)]));
  });
}

/// Decodes digit `digit` of byte `codes`, which holds digits to base 3 as a fraction of 256.
__device__ inline float ternary(unsigned codes, int digit, float scale) {
  unsigned power = 1;
  for (int d = 0; d < digit; ++d) power *= 3;
  return times(scale, static_cast<float>(static_cast<int>((codes * power & 255U) * 3 >> 8U) - 1));
}

__device__ inline Eight tq1_0(Bytes block, int i) {
  const float scale = half_at(block + 52);
  return eight([&](int j) {
    const int at = i + j;
    if (at < 160) return ternary(block[at % 32], at / 32, scale);
    if (at < 240) return ternary(block[32 + (at - 160) % 16], (at - 160) / 16, scale);
    return ternary(block[48 + (at - 240) % 4], (at - 240) / 4, scale);
  });
}

__device__ inline Eight tq2_0(Bytes block, int i) {
  const float scale = half_at(block + 64);
  const Bytes codes = block + i / 128 * 32 + i % 32;
  const int shift = i % 128 / 32 * 2;
  return eight(
      [&](int j) { return times(scale, static_cast<float>((codes[j] >> shift & 3) - 1)); });
}

template <>
struct Decoder<DType::kQ8_0> : Decodes<q8_0> {};
template <>
struct Decoder<DType::kQ4_0> : Decodes<q4_0> {};
template <>
struct Decoder<DType::kQ4_1> : Decodes<q4_1> {};
template <>
struct Decoder<DType::kQ5_0> : Decodes<q5_0> {};
template <>
struct Decoder<DType::kQ5_1> : Decodes<q5_1> {};
template <>
struct Decoder<DType::kQ2_K> : Decodes<q2_k> {};
template <>
struct Decoder<DType::kQ3_K> : Decodes<q3_k> {};
template <>
struct Decoder<DType::kQ4_K> : Decodes<q4_k> {};
template <>
struct Decoder<DType::kQ5_K> : Decodes<q5_k> {};
template <>
struct Decoder<DType::kQ6_K> : Decodes<q6_k> {};
template <>
struct Decoder<DType::kIQ4_NL> : Decodes<iq4_nl> {};
template <>
struct Decoder<DType::kIQ4_XS> : Decodes<iq4_xs> {};
template <>
struct Decoder<DType::kTQ1_0> : Decodes<tq1_0> {};
template <>
struct Decoder<DType::kTQ2_0> : Decodes<tq2_0> {};
template <>
struct Decoder<DType::kMXFP4> : Decodes<mxfp4> {};

}  // namespace weft::cuda::decoding
