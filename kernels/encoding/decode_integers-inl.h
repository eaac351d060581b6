// Decoders of the blocks that weights of Hugging Face's quantizers are converted to. The include
// guard is Highway's: each instruction set reads the file once.
#if defined(WEFT_KERNELS_DECODE_INTEGERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_DECODE_INTEGERS_INL_H
#undef WEFT_KERNELS_DECODE_INTEGERS_INL_H
#else
#define WEFT_KERNELS_DECODE_INTEGERS_INL_H
#endif

#include <hwy/highway.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weft/kernels/encoding/codebooks.h"
#include "weft/kernels/encoding/decode_blocks-inl.h"
#include "weft/kernels/encoding/integer_codes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// The codes of a run of 32 inputs.
template <int kBits>
HWY_INLINE void unpack_run(Bytes from, std::uint8_t* HWY_RESTRICT codes) {
  if constexpr (kBits == 8) {
    std::memcpy(codes, from, 32);
  } else if constexpr (kBits == 4) {
    for (int i = 0; i < 16; ++i) {
      codes[i] = from[i] & 15;
      codes[i + 16] = from[i] >> 4;
    }
  } else {
    for (int part = 0; part < 4; ++part) {
      for (int i = 0; i < 8; ++i) {
        codes[8 * part + i] = static_cast<std::uint8_t>(from[i] >> (2 * part) & 3);
      }
    }
    if constexpr (kBits == 3) {
      const auto third = load_bits<std::uint32_t>(from + 8);
      for (unsigned i = 0; i < 32; ++i) {
        codes[i] = static_cast<std::uint8_t>(codes[i] | (third >> i & 1U) << 2U);
      }
    }
  }
}

template <DType kType>
HWY_INLINE void decode_integers(Bytes block, float* HWY_RESTRICT to) {
  constexpr IntegerCodes kCodes = *integer_codes_of(kType);
  constexpr int kRun = static_cast<int>(IntegerCodes::kRun);
  Bytes from = block + kCodes.codes_at();
  for (std::int64_t group = 0; group < kCodes.groups; ++group) {
    const Bytes scale_at = block + group * kCodes.scale_bytes();
    const float scale = kCodes.bits == 8 ? load_bits<float>(scale_at) : load_f16(scale_at);
    const int zeros = block[kCodes.zeros_at()];
    const int zero = kCodes.groups == 1 ? zeros : zeros >> (4 * group) & 15;
    for (std::int64_t run = 0; run < kCodes.group / kRun; ++run, to += kRun) {
      std::array<std::uint8_t, kRun> codes;
      unpack_run<kCodes.bits>(from, codes.data());
      for (std::size_t i = 0; i < kRun; ++i) to[i] = scale * static_cast<float>(codes[i] - zero);
      from += kCodes.run_bytes();
    }
  }
}

/// E4M3 (OCP 8-bit Floating Point 1.0): no infinity, and one NaN of each sign.
HWY_INLINE float from_e4m3(std::uint8_t code) {
  const std::uint32_t magnitude = code & 0x7fU;
  const std::uint32_t sign = (code & 0x80U) << 24U;
  if (magnitude == 0x7fU) return std::numeric_limits<float>::quiet_NaN();
  // E4M3's exponent bias is 120 less than f32's. Its smallest numbers are subnormal f32 first.
  return std::bit_cast<float>(magnitude << 20U | sign) * 0x1p120F;
}

template <DType kType>
HWY_INLINE void decode_f8(Bytes block, float* HWY_RESTRICT to) {
  const auto scale = load_bits<float>(block);
  for (std::int64_t i = 0; i < encoding_row(kType).block.elements; ++i)
    to[i] = from_e4m3(block[4 + i]) * scale;
}

/// Decodes an f32 scale, then two runs of 32 codes, laid out as IntegerCodes' codes of 4 bits.
HWY_INLINE void decode_floats(Bytes block, const std::array<float, 16>& table,
                              float* HWY_RESTRICT to) {
  const auto scale = load_bits<float>(block);
  for (int run = 0; run < 2; ++run) {
    std::array<std::uint8_t, 32> codes;
    unpack_run<4>(block + 4 + std::ptrdiff_t{16} * run, codes.data());
    for (std::size_t i = 0; i < 32; ++i)
      to[32 * run + static_cast<int>(i)] = table[codes[i]] * scale;
  }
}

HWY_INLINE void decode_nf4(Bytes block, float* HWY_RESTRICT to) {
  decode_floats(block, kNf4Values, to);
}
HWY_INLINE void decode_fp4(Bytes block, float* HWY_RESTRICT to) {
  decode_floats(block, kFp4Values, to);
}

template <DType kType>
  requires(encoding_row(kType).has_zero)
struct Decoder<kType> : Decodes<decode_integers<kType>> {};
template <DType kType>
  requires(encoding_row(kType).codes == CodeType::kFloat)
struct Decoder<kType> : Decodes<decode_f8<kType>> {};
template <>
struct Decoder<DType::kNF4_64> : Decodes<decode_nf4> {};
template <>
struct Decoder<DType::kFP4_64> : Decodes<decode_fp4> {};

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_DECODE_INTEGERS_INL_H
