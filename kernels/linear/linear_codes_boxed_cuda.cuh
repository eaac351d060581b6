#pragma once

#include "weft/kernels/linear/linear_codes_halves_cuda.cuh"
#include "weft/kernels/linear/linear_codes_kernel_cuda.cuh"

/// Products of boxes (code_boxes.h). Codes become the exact numbers of bf16 that they stand for, or
/// of f16 beside tokens in TokenForm::kHalves; a scale goes on the sums of its columns, in float32,
/// or on the weights, which are then rounded to bf16 once for the scale and once for the product.
///
/// A lane's codes are a class, made for each unit:
///   kProducts            products of 16 columns under one scale; 0: scales go on weights
///   Codes(box, scales, at)  reads the scales; `box` has the warp's rows
///   operands(step, a)    the operands of 32 columns, in two products
///   column(step)         the first of the lane's eight columns, a multiple of 8
///   step_of(chunk, turn) the step of turn 0 or 1 in a half's chunk of 64 columns
///   scale(p, row)        of product p: a float, or twice a bf16
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// A lane's number of its first row in its warp's box.
__device__ inline int row_in_box(const Lane& at) { return at.first_row % kBoxRows + at.quad; }

template <TokenForm kForm>
__device__ void multiply_add_as(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  if constexpr (kForm == TokenForm::kHalves) {
    multiply_add_halves(sums, a, b0, b1);
  } else {
    multiply_add(sums, a, b0, b1);
  }
}

/// Puts four rows' words of eight codes into the operands' order.
template <class Convert>
__device__ void into_operands(const uint2 (&words)[4], std::uint32_t (&to)[2][2][4],
                              const Convert& convert) {
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    convert(words[2 * m].x, 2 * m, to[m][0][0], to[m][0][2]);
    convert(words[2 * m + 1].x, 2 * m + 1, to[m][0][1], to[m][0][3]);
    convert(words[2 * m].y, 2 * m, to[m][1][0], to[m][1][2]);
    convert(words[2 * m + 1].y, 2 * m + 1, to[m][1][1], to[m][1][3]);
  }
}

/// The tokens' numbers that a lane's operands of a step meet: eight columns side by side.
template <class Sizes, class Codes>
__device__ uint4 tokens_at(const std::byte* inputs, const Lane& at, const Codes& codes, int step,
                           int t) {
  const std::byte* from = inputs + at.input<Sizes>(codes.column(step)) + t * 8 * Sizes::kBoxBytes;
  if constexpr (Codes::kSplitColumns) {  // four columns, and four that are 16 further
    const auto first = *reinterpret_cast<const uint2*>(from);
    const auto second = *reinterpret_cast<const uint2*>(from + 32);
    return make_uint4(first.x, first.y, second.x, second.y);
  }
  return *reinterpret_cast<const uint4*>(from);
}

template <class Sizes, class Codes>
__device__ void add_scaled_sums(const Codes& codes, const std::byte* inputs, const Lane& at,
                                Sums<Sizes>& sums) {
  float part[2][Sizes::kTokens / 8][4];
#pragma unroll
  for (int step = 0; step < Codes::kSteps; ++step) {
    std::uint32_t a[2][2][4];
    codes.operands(step, a);
#pragma unroll
    for (int t = 0; t < Sizes::kTokens / 8; ++t) {
      const uint4 x = tokens_at<Sizes>(inputs, at, codes, step, t);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int product = 2 * step + k;
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          if (product % Codes::kProducts == 0) {
#pragma unroll
            for (float& sum : part[m][t]) sum = 0;
          }
          multiply_add_as<Sizes::kForm>(part[m][t], a[m][k], k == 0 ? x.x : x.z,
                                        k == 0 ? x.y : x.w);
          if (product % Codes::kProducts != Codes::kProducts - 1) continue;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            sums[m][t][i] = fmaf(codes.scale(product, 2 * m + i / 2), part[m][t][i], sums[m][t][i]);
          }
        }
      }
    }
  }
}

template <class Sizes, class Codes>
__device__ void add_scaled_weights(const Codes& codes, const std::byte* inputs, const Lane& at,
                                   Sums<Sizes>& sums) {
#pragma unroll
  for (int step = 0; step < Codes::kSteps; ++step) {
    std::uint32_t a[2][2][4];
    codes.operands(step, a);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          a[m][k][i] = times(a[m][k][i], codes.scale(2 * step + k, 2 * m + i % 2));
        }
      }
    }
#pragma unroll
    for (int t = 0; t < Sizes::kTokens / 8; ++t) {
      const uint4 x = tokens_at<Sizes>(inputs, at, codes, step, t);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        multiply_add(sums[m][t], a[m][0], x.x, x.y);
        multiply_add(sums[m][t], a[m][1], x.z, x.w);
      }
    }
  }
}

/// Adds a unit's sums under the scales of the tokens.
template <class Sizes>
__device__ void add_unit(const std::byte* inputs, const Lane& at, const Sums<Sizes>& of_unit,
                         Sums<Sizes>& sums) {
  const auto* scales = reinterpret_cast<const float*>(inputs + Sizes::kTokens * Sizes::kTokenBytes);
#pragma unroll
  for (int t = 0; t < Sizes::kTokens / 8; ++t) {
    const float2 two = *reinterpret_cast<const float2*>(scales + t * 8 + at.place * 2);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums[m][t][i] = fmaf(i % 2 == 0 ? two.x : two.y, of_unit[m][t][i], sums[m][t][i]);
      }
    }
  }
}

/// Encoding::add() of boxes, by the codes of a lane.
template <class Sizes, class Codes>
__device__ void add_boxed(const std::byte* weights, const std::byte* inputs, std::byte* scales,
                          const Lane& at, Sums<Sizes>& sums) {
  constexpr int kBytes = kBoxRows * Sizes::Encoding::kRowBytes;
  const Codes codes(weights + at.first_row / kBoxRows * kBytes, scales, at);
  if constexpr (Sizes::kForm == TokenForm::kHalves) {
    Sums<Sizes> of_unit = {};
    add_scaled_sums<Sizes>(codes, inputs, at, of_unit);
    add_unit<Sizes>(inputs, at, of_unit, sums);
  } else if constexpr (Codes::kProducts > 0) {
    add_scaled_sums<Sizes>(codes, inputs, at, sums);
  } else {
    add_scaled_weights<Sizes>(codes, inputs, at, sums);
  }
}

/// Multiplies two codes by their scale, rounded to bf16.
__device__ inline std::uint32_t scaled(std::uint32_t codes, std::uint32_t scale) {
  return times(codes, scale);
}
/// Splits a scale in f32 into two numbers of bf16, so that the product is rounded once.
__device__ inline std::uint32_t scaled(std::uint32_t codes, float scale) {
  const float upper = __bfloat162float(__float2bfloat16_rn(scale));
  return bits_of(
      __hfma2(two_of(codes), two_of(twice(upper)), two_of(times(codes, twice(scale - upper)))));
}

/// Encoding::Weights (linear_codes_tile_unpack_cuda.cuh) of boxes.
template <class Codes, int kRowBytes>
struct BoxedWeights {
  static_assert(!Codes::kSplitColumns);

  __device__ BoxedWeights(const std::byte* weights, std::byte* scales, const Lane& at)
      : codes(weights + at.first_row / kBoxRows * (kBoxRows * kRowBytes), scales, at) {}

  [[nodiscard]] __device__ int column(int chunk, int turn) const {
    return codes.column(Codes::step_of(chunk, turn));
  }

  __device__ void load(int chunk, int turn, uint4 (&to)[4]) const {
    const int step = Codes::step_of(chunk, turn);
    std::uint32_t a[2][2][4];
    codes.operands(step, a);
#pragma unroll
    for (int row = 0; row < 4; ++row) {
      const auto& first = a[row / 2][0];
      const auto& second = a[row / 2][1];
      const auto scale = codes.scale(2 * step, row);
      const auto other = codes.scale(2 * step + 1, row);
      to[row] = make_uint4(scaled(first[row % 2], scale), scaled(first[2 + row % 2], scale),
                           scaled(second[row % 2], other), scaled(second[2 + row % 2], other));
    }
  }

  Codes codes;
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

/// What all encodings in boxes share.
template <DType kType, int kShared>
struct BoxedEncoding {
  static constexpr CodeBox kBox = box_of(kType);
  static constexpr int kColumns = kBox.columns;
  static constexpr int kRowBytes = kBox.row_bytes();
  static constexpr bool kBoxed = true;
  static constexpr int kSharedBytes = kShared;
  static constexpr bool kSwapsTokens = false;
  static constexpr TokenForm kFewTokens = TokenForm::kNumbers;
};

}  // namespace weft::cuda::codes
