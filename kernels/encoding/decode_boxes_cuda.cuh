#pragma once

#include <cstdint>

#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/encoding/decode_cuda.cuh"

/// Decoders of boxes (code_boxes.h), on GPUs: weights i .. i + 7 of a row of a box, `i` a multiple
/// of 8. The arithmetic is that of the blocks' decoders.
namespace weft::cuda::decoding {

/// Returns byte `byte` of a row's codes; eight bytes from a multiple of 8 on are contiguous.
template <DType kType>
__device__ Bytes boxed_codes(Bytes box, int row, int byte) {
  return box + row * box_of(kType).codes + CodeBox::code_place(row, byte);
}

template <DType kType>
__device__ Bytes boxed_scale(Bytes box, int row, int byte) {
  return box + box_of(kType).scales_at() + row * box_of(kType).scales + byte;
}

template <DType kType>
__device__ Bytes boxed_rest(Bytes box, int row, int byte) {
  return box + box_of(kType).rest_at() + row * box_of(kType).rest + byte;
}

template <DType kType>
__device__ Eight boxed_i4(Bytes box, int row, int i) {
  constexpr int kGroup = 256 / box_of(kType).rest;
  const int group = i / kGroup;
  const float scale = half_at(boxed_scale<kType>(box, row, 2 * group));
  const int zero = *boxed_rest<kType>(box, row, group);
  const Bytes codes = boxed_codes<kType>(box, row, i / 32 * 16 + i % 16);
  const int shift = i % 32 / 16 * 4;
  return eight(
      [&](int j) { return times(scale, static_cast<float>((codes[j] >> shift & 15) - zero)); });
}

__device__ inline Eight boxed_q6_k(Bytes box, int row, int i) {
  constexpr DType kType = DType::kQ6_K;
  const auto own = static_cast<std::int8_t>(*boxed_scale<kType>(box, row, i / 16));
  const float scale = times(half_at(boxed_rest<kType>(box, row, 0)), static_cast<float>(own));
  const int in_half = i % 128;
  const Bytes low = boxed_codes<kType>(box, row, i / 128 * 64 + in_half % 64);
  const Bytes high = box + box_of(kType).high_at() + row * box_of(kType).high +
                     CodeBox::high_place(row, i / 128 * 32 + in_half % 32);
  const int low_shift = in_half / 64 * 4;
  const int high_shift = in_half / 32 * 2;
  return eight([&](int j) {
    const int code = (low[j] >> low_shift & 15) | (high[j] >> high_shift & 3) << 4;
    return times(scale, static_cast<float>(code - 32));
  });
}

__device__ inline Eight boxed_q8_0(Bytes box, int row, int i) {
  const float scale = half_at(boxed_scale<DType::kQ8_0>(box, row, i / 32 * 2));
  const Bytes codes = boxed_codes<DType::kQ8_0>(box, row, i);
  return eight(
      [&](int j) { return times(scale, static_cast<float>(static_cast<std::int8_t>(codes[j]))); });
}

template <DType kType>
__device__ Eight boxed_f8(Bytes box, int row, int i) {
  const float scale = *reinterpret_cast<const float*>(boxed_scale<kType>(box, row, 0));
  const Bytes codes = boxed_codes<kType>(box, row, i);
  return eight([&](int j) { return times(from_e4m3(codes[j]), scale); });
}

/// Decodes weights i .. i + 7 of a row in a box: decode(box, row, i). An encoding of
/// TensorCodes::kBoxes without a BoxDecoder fails to compile.
template <DType kType>
struct BoxDecoder;

template <Eight (*kFunction)(Bytes box, int row, int i)>
struct DecodesBoxes {
  static __device__ Eight decode(Bytes box, int row, int i) { return kFunction(box, row, i); }
};

template <DType kType>
  requires(encoding_row(kType).has_zero)
struct BoxDecoder<kType> : DecodesBoxes<boxed_i4<kType>> {};
template <DType kType>
  requires(encoding_row(kType).codes == CodeType::kFloat)
struct BoxDecoder<kType> : DecodesBoxes<boxed_f8<kType>> {};
template <>
struct BoxDecoder<DType::kQ6_K> : DecodesBoxes<boxed_q6_k> {};
template <>
struct BoxDecoder<DType::kQ8_0> : DecodesBoxes<boxed_q8_0> {};

struct BoxChoice {
  static constexpr bool decodes(DType dtype) { return box_of(dtype).exists(); }
  static constexpr bool alike(DType a, DType b) {
    return decode_alike(a, b) && box_of(a) == box_of(b);
  }
  template <DType kType>
  static __device__ Eight decode(Bytes box, int row, int i) {
    return BoxDecoder<kType>::decode(box, row, i);
  }
};

}  // namespace weft::cuda::decoding

namespace weft::cuda {

/// Not inlined, for the same reason as decode_eight().
static __device__ __attribute__((noinline)) decoding::Eight decode_boxed_eight(DType dtype,
                                                                               decoding::Bytes box,
                                                                               int row, int i) {
  return decoding::decode_by<decoding::BoxChoice>(dtype, box, row, i);
}

}  // namespace weft::cuda
