#pragma once

#include "weft/core/dtype.h"
#include "weft/kernels/encoding/decode_blocks_cuda.cuh"
#include "weft/kernels/encoding/decode_grids_cuda.cuh"
#include "weft/kernels/encoding/decode_groups_cuda.cuh"

namespace weft::cuda {

/// Weights i .. i + 7 of a block, the same bits as decode_blocks() gives. `i` is a multiple of 8.
/// Not inlined: what calls it would be compiled for minutes.
static __device__ __noinline__ decoding::Eight decode_eight(DType dtype, decoding::Bytes block,
                                                            int i) {
  using namespace decoding;
  switch (dtype) {
    case DType::kQ8_0:
      return q8_0(block, i);
    case DType::kQ4_0:
      return q4_0(block, i);
    case DType::kQ4_1:
      return q4_1(block, i);
    case DType::kQ5_0:
      return q5_0(block, i);
    case DType::kQ5_1:
      return q5_1(block, i);
    case DType::kQ2_K:
      return q2_k(block, i);
    case DType::kQ3_K:
      return q3_k(block, i);
    case DType::kQ4_K:
      return q4_k(block, i);
    case DType::kQ5_K:
      return q5_k(block, i);
    case DType::kQ6_K:
      return q6_k(block, i);
    case DType::kIQ1_S:
      return iq1_s(block, i);
    case DType::kIQ1_M:
      return iq1_m(block, i);
    case DType::kIQ2_XXS:
      return iq2_xxs(block, i);
    case DType::kIQ2_XS:
      return iq2_xs(block, i);
    case DType::kIQ2_S:
      return iq2_s(block, i);
    case DType::kIQ3_XXS:
      return iq3_xxs(block, i);
    case DType::kIQ3_S:
      return iq3_s(block, i);
    case DType::kIQ4_NL:
      return iq4_nl(block, i);
    case DType::kIQ4_XS:
      return iq4_xs(block, i);
    case DType::kTQ1_0:
      return tq1_0(block, i);
    case DType::kTQ2_0:
      return tq2_0(block, i);
    case DType::kMXFP4:
      return mxfp4(block, i);
    case DType::kQ2_B32:
      return planes(block, i, 2, 32);
    case DType::kQ3_B32:
      return planes(block, i, 3, 32);
    case DType::kQ3H_B64:
      return pairs_of_11(block, i);
    case DType::kQ4_B32:
      return planes(block, i, 4, 32);
    case DType::kQ4_B64:
      return planes(block, i, 4, 64);
    case DType::kQ5_B64:
      return planes(block, i, 5, 64);
    case DType::kQ6_B64:
      return planes(block, i, 6, 64);
    case DType::kQ8_B32:
      return planes(block, i, 8, 32);
    case DType::kI2_32:
      return integers<2>(block, i, 32, 2);
    case DType::kI2_64:
      return integers<2>(block, i, 64, 2);
    case DType::kI2_128:
    case DType::kI2_256:
      return integers<2>(block, i, 256, 1);
    case DType::kI3_32:
      return integers<3>(block, i, 32, 2);
    case DType::kI3_64:
    case DType::kI3_128:
    case DType::kI3_256:
      return integers<3>(block, i, 256, 1);
    case DType::kI4_32:
    case DType::kI4_64:
    case DType::kI4_128:
    case DType::kI4_256:
      return integers<4>(block, i, 256, 1);
    case DType::kI8_32:
    case DType::kI8_64:
    case DType::kI8_128:
    case DType::kI8_256:
      return integers<8>(block, i, 256, 1);
    case DType::kF8_32:
    case DType::kF8_64:
    case DType::kF8_128:
    case DType::kF8_256:
      return f8(block, i);
    case DType::kNF4_64:
      return four_bit_floats(nf4_values, block, i);
    case DType::kFP4_64:
      return four_bit_floats(fp4_values, block, i);
    default:
      return {};
  }
}

}  // namespace weft::cuda
