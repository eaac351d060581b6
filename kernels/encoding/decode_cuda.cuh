#pragma once

#include <array>
#include <cstddef>

#include "weft/core/encodings.h"
#include "weft/kernels/encoding/decode_blocks_cuda.cuh"
#include "weft/kernels/encoding/decode_grids_cuda.cuh"
#include "weft/kernels/encoding/decode_groups_cuda.cuh"

namespace weft::cuda {
namespace decoding {

/// Whether the same code decodes blocks of both types: blocks of one group, with scale and zero
/// before the codes, may differ in their lengths alone.
constexpr bool decode_alike(DType first, DType second) {
  const Encoding& a = encoding_row(first);
  const Encoding& b = encoding_row(second);
  const bool is_one_group = a.scales == 1 && (a.has_zero || a.codes == CodeType::kFloat);
  return is_one_group && b.scales == 1 && a.has_zero == b.has_zero && a.codes == b.codes &&
         a.levels == b.levels;
}

/// Returns the first type of each run of encodings that the same code decodes, in the order of
/// kEncodings. Choice::alike() says whether an encoding continues the run of the one before it.
template <class Choice>
constexpr auto decoder_starts() {
  constexpr auto kStarts = [](std::size_t row) {
    const DType own = kEncodings[row].dtype;
    return Choice::decodes(own) && (row == 0 || !Choice::alike(kEncodings[row - 1].dtype, own));
  };
  constexpr std::size_t kCount = [&] {
    std::size_t count = 0;
    for (std::size_t row = 0; row < kEncodings.size(); ++row) count += kStarts(row) ? 1 : 0;
    return count;
  }();
  std::array<DType, kCount> starts{};
  std::size_t next = 0;
  for (std::size_t row = 0; row < kEncodings.size(); ++row) {
    if (kStarts(row)) starts[next++] = kEncodings[row].dtype;
  }
  return starts;
}

/// Decodes by the decoder of a type, found by bisection among kCount decoders from kFirst on.
template <class Choice, std::size_t kFirst, std::size_t kCount, class... Args>
__device__ Eight decode_among(DType dtype, Args... args) {
  constexpr auto kStarts = decoder_starts<Choice>();
  if constexpr (kCount == 1) {
    return Choice::template decode<kStarts[kFirst]>(args...);
  } else {
    constexpr std::size_t kHalf = kCount / 2;
    constexpr DType kMiddle = kStarts[kFirst + kHalf];
    return dtype < kMiddle ? decode_among<Choice, kFirst, kHalf>(dtype, args...)
                           : decode_among<Choice, kFirst + kHalf, kCount - kHalf>(dtype, args...);
  }
}

template <class Choice, class... Args>
__device__ Eight decode_by(DType dtype, Args... args) {
  return decode_among<Choice, 0, decoder_starts<Choice>().size()>(dtype, args...);
}

struct BlockChoice {
  static constexpr bool decodes(DType /*dtype*/) { return true; }
  static constexpr bool alike(DType a, DType b) { return decode_alike(a, b); }
  template <DType kType>
  static __device__ Eight decode(Bytes block, int i) {
    return Decoder<kType>::decode(block, i);
  }
};

}  // namespace decoding

/// Returns weights i .. i + 7 of a block, bit for bit as decode_blocks(). `i` is a multiple of 8.
/// Not inlined, since each caller would take minutes to compile.
static __device__ __attribute__((noinline)) decoding::Eight decode_eight(DType dtype,
                                                                         decoding::Bytes block,
                                                                         int i) {
  return decoding::decode_by<decoding::BlockChoice>(dtype, block, i);
}

}  // namespace weft::cuda
