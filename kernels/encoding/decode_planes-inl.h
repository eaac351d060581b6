// Decoders of Inferflow's blocks. The include guard is Highway's: each instruction set reads the
// file once.
#if defined(WEFT_KERNELS_DECODE_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_DECODE_PLANES_INL_H
#undef WEFT_KERNELS_DECODE_PLANES_INL_H
#else
#define WEFT_KERNELS_DECODE_PLANES_INL_H
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/kernels/encoding/bit_planes.h"
#include "weft/kernels/encoding/decode_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

/// Assembles codes of kBits bits from their planes.
template <unsigned kBits, std::size_t kCount>
HWY_INLINE void join_planes(Bytes from, std::array<std::uint8_t, kCount>& codes) {
  codes.fill(0);
  unsigned below = 0;
  for (const unsigned width : BitPlanes::kWidths) {
    if ((kBits & width) == 0) continue;
    const std::size_t bytes = kCount * width / 8;
    const unsigned mask = (1U << width) - 1;
    for (unsigned shift = 0; shift < 8; shift += width) {
      for (std::size_t i = 0; i < bytes; ++i) {
        std::uint8_t& code = codes[shift / width * bytes + i];
        code = static_cast<std::uint8_t>(code | (from[i] >> shift & mask) << below);
      }
    }
    from += bytes;
    below += width;
  }
}

template <unsigned kBits, std::size_t kCount>
HWY_INLINE void decode_planes(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  const float minimum = load_f16(block + 2);
  std::array<std::uint8_t, kCount> codes;
  join_planes<kBits>(block + BitPlanes::kCodesAt, codes);
  for (std::size_t i = 0; i < kCount; ++i) to[i] = scale * static_cast<float>(codes[i]) + minimum;
}

HWY_INLINE void decode_pairs_of_11(Bytes block, float* HWY_RESTRICT to) {
  const float scale = load_f16(block);
  const float minimum = load_f16(block + 2);
  std::array<std::uint8_t, 32> pairs;
  join_planes<kPairBits>(block + BitPlanes::kCodesAt, pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto first = pairs[i] / kPairBase;
    to[2 * i] = scale * static_cast<float>(first) + minimum;
    to[2 * i + 1] = scale * static_cast<float>(pairs[i] % kPairBase) + minimum;
  }
}

template <>
struct Decoder<DType::kQ2_B32> : Decodes<decode_planes<2, 32>> {};
template <>
struct Decoder<DType::kQ3_B32> : Decodes<decode_planes<3, 32>> {};
template <>
struct Decoder<DType::kQ3H_B64> : Decodes<decode_pairs_of_11> {};
template <>
struct Decoder<DType::kQ4_B32> : Decodes<decode_planes<4, 32>> {};
template <>
struct Decoder<DType::kQ4_B64> : Decodes<decode_planes<4, 64>> {};
template <>
struct Decoder<DType::kQ5_B64> : Decodes<decode_planes<5, 64>> {};
template <>
struct Decoder<DType::kQ6_B64> : Decodes<decode_planes<6, 64>> {};
template <>
struct Decoder<DType::kQ8_B32> : Decodes<decode_planes<8, 32>> {};

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEFT_KERNELS_DECODE_PLANES_INL_H
