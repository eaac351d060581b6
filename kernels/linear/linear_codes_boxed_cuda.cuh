#pragma once

#include "weft/kernels/linear/linear_codes_halves_cuda.cuh"
#include "weft/kernels/linear/linear_codes_kernel_cuda.cuh"

/// Products of boxes (code_boxes.h). Codes become the exact bf16 numbers that they stand for; with
/// tokens in TokenForm::kHalves they become f16. A scale goes on the sums of its columns, in
/// float32, or on the weights. In the second case weights are rounded to bf16 twice: once for the
/// scale and once for the product.
///
/// A class of a lane's codes, constructed for each unit, has:
///   kProducts            products of 16 columns under one scale; 0: scales go on weights
///   Codes(box, scales, at)  reads the scales; `box` has the warp's rows
///   operands(step, a)    the operands of 32 columns, in two products
///   column(step)         the first of the lane's eight columns, a multiple of 8
///   scale(p, row)        the scale of product p: a float, or twice a bf16
namespace weft::cuda::codes {

/// Returns the index of a lane's first row in its warp's box.
__device__ inline int row_in_box(const Lane& at) { return at.first_row % kBoxRows + at.quad; }

template <TokenForm kForm>
__device__ void multiply_add_as(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  if constexpr (kForm == TokenForm::kHalves) {
    multiply_add<__half>(sums, a, b0, b1);
  } else {
    multiply_add<__nv_bfloat16>(sums, a, b0, b1);
  }
}

/// Converts four rows' words of eight codes into the operands' order.
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

/// The tokens' numbers that multiply a lane's operands of a step: eight contiguous columns.
template <class Sizes, class Codes>
__device__ uint4 tokens_at(const std::byte* inputs, const Lane& at, const Codes& codes, int step,
                           int t) {
  const std::byte* from = inputs + at.input<Sizes>(codes.column(step)) + t * 8 * Sizes::kBoxBytes;
  if constexpr (Codes::kSplitColumns) {  // four columns, and the four that are 16 further
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
        multiply_add<__nv_bfloat16>(sums[m][t], a[m][0], x.x, x.y);
        multiply_add<__nv_bfloat16>(sums[m][t], a[m][1], x.z, x.w);
      }
    }
  }
}

/// Adds a unit's sums, times the tokens' scales, to `sums`.
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

/// Implements Encoding::add() for boxes, with the encoding's class of a lane's codes.
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

/// Members that all encodings in boxes have in common.
template <DType kType, int kShared>
struct BoxedEncoding {
  static constexpr CodeBox kBox = box_of(kType);
  static constexpr int kColumns = kBox.columns;
  static constexpr int kRowBytes = kBox.row_bytes();
  static constexpr bool kBoxed = true;
  static constexpr int kGateDistance = kBoxRows;
  static constexpr int kSharedBytes = kShared;
  static constexpr bool kSwapsTokens = false;
  static constexpr TokenForm kFewTokens = TokenForm::kNumbers;
};

}  // namespace weft::cuda::codes
