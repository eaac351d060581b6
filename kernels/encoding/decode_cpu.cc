#include <array>
#include <utility>

#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/require.h"

#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming): Highway's name
#define HWY_TARGET_INCLUDE "weft/kernels/encoding/decode_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/encoding/decode_blocks-inl.h"
#include "weft/kernels/encoding/decode_grids-inl.h"
#include "weft/kernels/encoding/decode_integers-inl.h"
#include "weft/kernels/encoding/decode_planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using DecodeAll = void (*)(Bytes from, std::int64_t count, std::int64_t stride, float* to);

/// Not part of the loop over blocks: GCC 12 makes SIMD code of that too, which reads blocks beyond
/// the last.
template <void (*kDecode)(Bytes, float*)>
HWY_NOINLINE void decode_one(Bytes from, float* to) {
  kDecode(from, to);
}

template <void (*kDecode)(Bytes, float*), std::int64_t kElements>
void decode_all(Bytes from, std::int64_t count, std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < count; ++i)
    decode_one<kDecode>(from + i * stride, to + i * kElements);
}

template <std::size_t... kIndex>
constexpr std::array<DecodeAll, sizeof...(kIndex)> integer_decoders(
    std::index_sequence<kIndex...> /*rows*/) {
  return {decode_all<decode_integers<kIndex>, kIntegerCodes[kIndex].elements()>...};
}
constexpr auto kIntegerDecoders =
    integer_decoders(std::make_index_sequence<kIntegerCodes.size()>());

DecodeAll decoder_of(DType dtype) {
  if (const IntegerCodes* integers = integer_codes_of(dtype); integers != nullptr) {
    return kIntegerDecoders[static_cast<std::size_t>(integers - kIntegerCodes.data())];
  }
  switch (dtype) {
    case DType::kQ8_0:
      return decode_all<decode_q8_0, 32>;
    case DType::kQ4_0:
      return decode_all<decode_q4_0, 32>;
    case DType::kQ4_1:
      return decode_all<decode_q4_1, 32>;
    case DType::kQ5_0:
      return decode_all<decode_q5_0, 32>;
    case DType::kQ5_1:
      return decode_all<decode_q5_1, 32>;
    case DType::kQ2_K:
      return decode_all<decode_q2_k, 256>;
    case DType::kQ3_K:
      return decode_all<decode_q3_k, 256>;
    case DType::kQ4_K:
      return decode_all<decode_q4_k, 256>;
    case DType::kQ5_K:
      return decode_all<decode_q5_k, 256>;
    case DType::kQ6_K:
      return decode_all<decode_q6_k, 256>;
    case DType::kIQ1_S:
      return decode_all<decode_iq1_s, 256>;
    case DType::kIQ1_M:
      return decode_all<decode_iq1_m, 256>;
    case DType::kIQ2_XXS:
      return decode_all<decode_iq2_xxs, 256>;
    case DType::kIQ2_XS:
      return decode_all<decode_iq2_xs, 256>;
    case DType::kIQ2_S:
      return decode_all<decode_iq2_s, 256>;
    case DType::kIQ3_XXS:
      return decode_all<decode_iq3_xxs, 256>;
    case DType::kIQ3_S:
      return decode_all<decode_iq3_s, 256>;
    case DType::kIQ4_NL:
      return decode_all<decode_iq4_nl, 32>;
    case DType::kIQ4_XS:
      return decode_all<decode_iq4_xs, 256>;
    case DType::kTQ1_0:
      return decode_all<decode_tq1_0, 256>;
    case DType::kTQ2_0:
      return decode_all<decode_tq2_0, 256>;
    case DType::kMXFP4:
      return decode_all<decode_mxfp4, 32>;
    case DType::kF8_32:
      return decode_all<decode_f8<32>, 32>;
    case DType::kF8_64:
      return decode_all<decode_f8<64>, 64>;
    case DType::kF8_128:
      return decode_all<decode_f8<128>, 128>;
    case DType::kF8_256:
      return decode_all<decode_f8<256>, 256>;
    case DType::kNF4_64:
      return decode_all<decode_nf4, 64>;
    case DType::kFP4_64:
      return decode_all<decode_fp4, 64>;
    case DType::kQ2_B32:
      return decode_all<decode_planes<2, 32>, 32>;
    case DType::kQ3_B32:
      return decode_all<decode_planes<3, 32>, 32>;
    case DType::kQ3H_B64:
      return decode_all<decode_pairs_of_11, 64>;
    case DType::kQ4_B32:
      return decode_all<decode_planes<4, 32>, 32>;
    case DType::kQ4_B64:
      return decode_all<decode_planes<4, 64>, 64>;
    case DType::kQ5_B64:
      return decode_all<decode_planes<5, 64>, 64>;
    case DType::kQ6_B64:
      return decode_all<decode_planes<6, 64>, 64>;
    case DType::kQ8_B32:
      return decode_all<decode_planes<8, 32>, 32>;
    default:
      return nullptr;
  }
}

void decode_on_target(const EncodedBlocks& blocks, float* to) {
  const DecodeAll decode = decoder_of(blocks.dtype);
  require(decode != nullptr, "decode_blocks: a plain type");
  const std::int64_t stride = blocks.stride == 0 ? block_of(blocks.dtype).bytes : blocks.stride;
  decode(reinterpret_cast<Bytes>(blocks.data), blocks.count, stride, to);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

HWY_EXPORT(decode_on_target);

void decode_blocks(const EncodedBlocks& blocks, float* to) {
  HWY_DYNAMIC_DISPATCH(decode_on_target)(blocks, to);
}

}  // namespace weft
#endif  // HWY_ONCE
