#pragma once

#include "weft/kernels/linear/linear_codes_boxed_cuda.cuh"

namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// The bytes of a lane's codes of 8 bits in boxes of 128 columns, of which a half has 64. Exact:
/// of either 32 columns eight side by side.
template <class Sizes>
struct EightBits {
  static constexpr int kRow = Sizes::Encoding::kBox.codes;

  __device__ EightBits(const std::byte* weights, const Lane& at)
      : box(weights + at.row<Sizes>() / kBoxRows * (kBoxRows * Sizes::Encoding::kRowBytes)),
        row(at.row_in_box<Sizes>()),
        half(at.half),
        place(at.place),
        input(at.quad * Sizes::kBoxBytes + (at.half * 64 + 8 * at.place) * 2) {}

  /// Calls convert(word, i, first, second) for words of four codes.
  template <class Convert>
  __device__ void convert(int step, std::uint32_t (&to)[2][2][4], const Convert& of) const {
    if constexpr (Sizes::kExact) {
      uint2 words[4];
      const std::byte* from = box + row * kRow +
                              CodeBox::code_place(row, half * 64 + step * 32 + place / 2 * 16) +
                              place % 2 * 8;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = *reinterpret_cast<const uint2*>(from + row_step<Sizes>(i, kRow));
      }
      into_operands(words, to, of);
    } else {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const std::byte* from =
            box + row * kRow + CodeBox::code_place(row, half * 64 + step * 32 + k * 16);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          of(operand_bytes(from + row_step<Sizes>(i, kRow)), i, to[i / 2][k][i % 2],
             to[i / 2][k][i % 2 + 2]);
        }
      }
    }
  }

  [[nodiscard]] __device__ uint4 tokens(const std::byte* inputs, int step) const {
    return *reinterpret_cast<const uint4*>(inputs + input + step * 64);
  }
  [[nodiscard]] __device__ int column(int step, int k) const {
    return half * 64 + step * 32 + k * 16;
  }

  const std::byte* box;
  int row;
  int half;
  int place;
  int input;
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
