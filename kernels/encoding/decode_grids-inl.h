// Decoders of blocks whose codes are points of a grid. The include guard is Highway's: each
// instruction set reads the file once.
#if defined(WEFT_KERNELS_DECODE_GRIDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_DECODE_GRIDS_INL_H
#undef WEFT_KERNELS_DECODE_GRIDS_INL_H
#else
#define WEFT_KERNELS_DECODE_GRIDS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/encoding/decode_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// A point times a scale; weight i is negative where bit i of `signs` is set.
template <std::size_t kPoint>
HWY_INLINE void put_signed(const GridPoint<kPoint>& point, std::uint32_t signs, float scale,
                           float* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t i = 0; i < kPoint; ++i) {
    const float value = scale * static_cast<float>(point[i]);
    to[i] = (signs >> i & 1U) != 0 ? -value : value;
  }
#else
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, kPoint> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const hn::Rebind<std::int8_t, decltype(d)> bytes;
  for (std::size_t i = 0; i < kPoint; i += hn::Lanes(d)) {
    const auto codes = hn::LoadU(bytes, point.data() + i);
    const auto value = hn::Mul(hn::Set(d, scale), hn::ConvertTo(d, hn::PromoteTo(integers, codes)));
    // Moves bit i to a float's sign bit.
    const auto to_sign =
        hn::Sub(hn::Set(bits, static_cast<std::uint32_t>(31 - i)), hn::Iota(bits, 0));
    const auto moved = hn::Shl(hn::Set(bits, signs), to_sign);
    const auto sign = hn::And(moved, hn::Set(bits, 0x80000000U));
    hn::StoreU(hn::Xor(value, hn::BitCast(d, sign)), d, to + i);
  }
#endif
}

HWY_INLINE void put_shifted(const GridPoint<8>& point, float shift, float scale,
                            float* HWY_RESTRICT to) {
  for (std::size_t i = 0; i < 8; ++i) to[i] = scale * (static_cast<float>(point[i]) + shift);
}

/// scale * (code + 1/2) * part, in this order.
HWY_INLINE float half_step(float scale, unsigned code, float part) {
  return scale * (0.5F + static_cast<float>(code)) * part;
}

/// Returns the i-th four bits of a row of bytes; a byte's low half comes first.
HWY_INLINE unsigned nibble(Bytes from, std::int64_t i) { return from[i / 2] >> (i % 2 * 4) & 15U; }

HWY_INLINE void decode_iq2_xxs(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  for (std::int64_t g = 0; g < 8; ++g) {
    const Bytes indices = block + 2 + 8 * g;
    const auto rest = load_bits<std::uint32_t>(indices + 4);
    const float own_scale = half_step(scale, rest >> 28U, 0.25F);
    for (std::int64_t i = 0; i < 4; ++i) {
      put_signed(kIq2XxsPoints[indices[i]], even_signs(rest >> (7 * i)), own_scale,
                 to + 32 * g + 8 * i);
    }
  }
}

HWY_INLINE void decode_iq2_xs(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  for (std::int64_t i = 0; i < 32; ++i) {
    const unsigned code = load_bits<std::uint16_t>(block + 2 + 2 * i);
    put_signed(kIq2XsPoints[code & 511U], even_signs(code >> 9U),
               half_step(scale, nibble(block + 66, i / 2), 0.25F), to + 8 * i);
  }
}

HWY_INLINE void decode_iq2_s(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  for (std::int64_t i = 0; i < 32; ++i) {
    const unsigned high = block[66 + i / 4] >> (i % 4 * 2) & 3U;
    put_signed(kIq2SPoints[block[2 + i] | high << 8U], block[34 + i],
               half_step(scale, nibble(block + 74, i / 2), 0.25F), to + 8 * i);
  }
}

HWY_INLINE void decode_iq3_xxs(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  for (std::int64_t g = 0; g < 8; ++g) {
    const auto rest = load_bits<std::uint32_t>(block + 66 + 4 * g);
    const float own_scale = half_step(scale, rest >> 28U, 0.5F);
    for (std::int64_t i = 0; i < 8; ++i) {
      const unsigned signs = even_signs(rest >> (i / 2 * 7));
      put_signed(kIq3XxsPoints[block[2 + 8 * g + i]], signs >> (i % 2 * 4), own_scale,
                 to + 32 * g + 4 * i);
    }
  }
}

HWY_INLINE void decode_iq3_s(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  for (std::int64_t i = 0; i < 64; ++i) {
    const unsigned high = block[66 + i / 8] >> (i % 8) & 1U;
    const unsigned own_scale = 1 + 2 * nibble(block + 106, i / 8);
    put_signed(kIq3SPoints[block[2 + i] | high << 8U], nibble(block + 74, i),
               scale * static_cast<float>(own_scale), to + 4 * i);
  }
}

constexpr float kIq1Shift = 0.125F;

HWY_INLINE void decode_iq1_s(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  for (std::int64_t g = 0; g < 8; ++g) {
    const unsigned rest = load_bits<std::uint16_t>(block + 34 + 2 * g);
    const float own_scale = scale * static_cast<float>(2 * (rest >> 12U & 7U) + 1);
    const float shift = (rest & 0x8000U) != 0 ? -kIq1Shift : kIq1Shift;
    for (std::int64_t i = 0; i < 4; ++i) {
      const unsigned high = rest >> (3 * i) & 7U;
      put_shifted(kIq1Points[block[2 + 4 * g + i] | high << 8U], shift, own_scale,
                  to + 32 * g + 8 * i);
    }
  }
}

HWY_INLINE void decode_iq1_m(Bytes block, float* HWY_RESTRICT to) {
  const auto word = [&](std::int64_t i) {
    return unsigned{load_bits<std::uint16_t>(block + 48 + 2 * i)};
  };
  const unsigned bits =
      word(0) >> 12U | (word(1) >> 8U & 0xf0U) | (word(2) >> 4U & 0xf00U) | (word(3) & 0xf000U);
  const float scale = from_f16(static_cast<std::uint16_t>(bits));
  for (std::int64_t i = 0; i < 32; ++i) {
    const unsigned high = nibble(block + 32, i);
    const unsigned own_scale = 2 * (word(i / 8) >> (i / 2 % 4 * 3) & 7U) + 1;
    put_shifted(kIq1Points[block[i] | (high & 7U) << 8U], (high & 8U) != 0 ? -kIq1Shift : kIq1Shift,
                scale * static_cast<float>(own_scale), to + 8 * i);
  }
}

template <>
struct Decoder<DType::kIQ1_S> : Decodes<decode_iq1_s> {};
template <>
struct Decoder<DType::kIQ1_M> : Decodes<decode_iq1_m> {};
template <>
struct Decoder<DType::kIQ2_XXS> : Decodes<decode_iq2_xxs> {};
template <>
struct Decoder<DType::kIQ2_XS> : Decodes<decode_iq2_xs> {};
template <>
struct Decoder<DType::kIQ2_S> : Decodes<decode_iq2_s> {};
template <>
struct Decoder<DType::kIQ3_XXS> : Decodes<decode_iq3_xxs> {};
template <>
struct Decoder<DType::kIQ3_S> : Decodes<decode_iq3_s> {};

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_DECODE_GRIDS_INL_H
