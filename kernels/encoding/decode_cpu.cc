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

/// A separate function, because GCC 12 would vectorise the loop over blocks across blocks and read
/// past the last block.
template <DecodeBlock kDecode>
HWY_NOINLINE void decode_one(Bytes from, float* to) {
  kDecode(from, to);
}

template <DecodeBlock kDecode, std::int64_t kElements>
void decode_all(Bytes from, std::int64_t count, std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < count; ++i)
    decode_one<kDecode>(from + i * stride, to + i * kElements);
}

template <std::size_t... kRow>
constexpr std::array<DecodeAll, sizeof...(kRow)> decoders_of_all(
    std::index_sequence<kRow...> /*rows*/) {
  return {decode_all<Decoder<kEncodings[kRow].dtype>::kDecode, kEncodings[kRow].block.elements>...};
}
constexpr auto kDecoders = decoders_of_all(std::make_index_sequence<kEncodings.size()>());

void decode_on_target(const EncodedBlocks& blocks, float* to) {
  require(is_encoded(blocks.dtype), "decode_blocks: a plain type");
  const DecodeAll decode = kDecoders[static_cast<std::size_t>(blocks.dtype) - kFirstEncoding];
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
