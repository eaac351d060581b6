#pragma once

#include "weft/kernels/linear/linear_codes_kernel_cuda.cuh"

/// Products of codes that are exact numbers of bf16.
///
/// Up to kExactTokens tokens scales go on sums, in float32, by a lane's codes of a unit:
///   operands(step, a)    operands of 32 columns, in two products
///   tokens(inputs, step)  the numbers of token `quad` that they meet
///   scale(product, i)    of the lane's i-th row
/// Encoding::kProducts says how many products are under one scale. For more tokens:
///   operands(step, a)  as above, scaled: a[box][product][{row, row + 8} of 2 x 2 columns]
///   column(step, k)    the first of a product's 16 columns
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Steps of 32 columns of a half.
template <class Sizes>
constexpr int kSteps = Sizes::Encoding::kColumns / kHalves / 32;

/// Puts four rows' words of eight codes into the operands' order.
template <class Convert>
__device__ void into_operands(const uint2 (&words)[4], std::uint32_t (&to)[2][2][4],
                              const Convert& convert) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    convert(words[i].x, i, to[i / 2][0][i % 2], to[i / 2][0][i % 2 + 2]);
    convert(words[i].y, i, to[i / 2][1][i % 2], to[i / 2][1][i % 2 + 2]);
  }
}

template <class Sizes, class Codes>
__device__ void add_exact(const Codes& codes, const std::byte* inputs, Sums<Sizes>& sums) {
  static_assert(Sizes::kTokens == 8);
  float part[2][4];
#pragma unroll
  for (int step = 0; step < kSteps<Sizes>; ++step) {
    std::uint32_t a[2][2][4];
    codes.operands(step, a);
    const uint4 x = codes.tokens(inputs, step);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int product = 2 * step + k;
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        if (product % Sizes::Encoding::kProducts == 0) {
#pragma unroll
          for (float& sum : part[m]) sum = 0;
        }
        multiply_add(part[m], a[m][k], k == 0 ? x.x : x.z, k == 0 ? x.y : x.w);
        if (product % Sizes::Encoding::kProducts != Sizes::Encoding::kProducts - 1) continue;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[m][0][i] = fmaf(codes.scale(product, 2 * m + i / 2), part[m][i], sums[m][0][i]);
        }
      }
    }
  }
}

/// A lane's two times two bytes of a chunk of 16, in the order of operands of 16 columns.
__device__ inline std::uint32_t operand_bytes(const std::byte* chunk) {
  const auto* from = reinterpret_cast<const std::uint16_t*>(chunk) + threadIdx.x % 4;
  return from[0] | std::uint32_t{from[4]} << 16U;
}

/// The operands of a step are made while the products of the one before run.
template <class Sizes, class Codes>
__device__ void add_wide(const Codes& codes, const std::byte* inputs, Sums<Sizes>& sums) {
  constexpr int kTokens = Sizes::kTokens;
  std::uint32_t a[2][2][2][4];
#pragma unroll
  for (int step = 0; step < kSteps<Sizes>; ++step) {
    codes.operands(step, a[step % 2]);
    begin_products();
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int column = codes.column(step, k);
      const std::uint64_t right =
          matrix_descriptor(inputs + column / 64 * (kTokens * Sizes::kBoxBytes)) +
          column % 64 * 2 / 16;
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        HeldProduct<kTokens>::add(reinterpret_cast<float(&)[kTokens / 2]>(sums[m]),
                                  a[step % 2][m][k], right);
      }
    }
    commit_products();
    wait_products<1>();
  }
  wait_products<0>();
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

/// What all encodings in boxes share.
template <DType kType, int kShared>
struct BoxedEncoding {
  static constexpr CodeBox kBox = box_of(kType);
  static constexpr int kColumns = kBox.columns;
  static constexpr int kRowBytes = kBox.row_bytes();
  static constexpr bool kBoxed = true;
  static constexpr int kSharedBytes = kShared;
};

}  // namespace weft::cuda::codes
