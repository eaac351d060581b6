#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "weft/kernels/activation_cuda.cuh"
#include "weft/kernels/cuda/instructions_cuda.cuh"
#include "weft/kernels/linear/linear_cuda.h"

/// The steps that follow a product's sums, shared by all ways to multiply. So ways differ only in
/// the order of their sums.
namespace weft::cuda {

__device__ inline void store_number(const DeviceRows& rows, std::int64_t row, std::int64_t column,
                                    float value) {
  const std::int64_t at = row * rows.stride + column;
  switch (rows.dtype) {
    case DType::kF16:
      static_cast<__half*>(rows.data)[at] = __float2half_rn(value);
      break;
    case DType::kBF16:
      static_cast<__nv_bfloat16*>(rows.data)[at] = __float2bfloat16_rn(value);
      break;
    default:
      static_cast<float*>(rows.data)[at] = value;
  }
}

/// CudaLinearParams without the product; kernels take it by value.
struct LinearEpilogue {
  explicit LinearEpilogue(const CudaLinearParams& params)
      : bias(params.bias),
        residual(params.residual),
        out(params.out),
        outputs(params.weight.outputs),
        inputs(params.weight.inputs),
        spec(params.spec),
        norm_before(params.norm_before),
        norm_after(params.norm_after) {}

  /// Returns the bias of `output`. In a gated matrix index outputs + n is the bias of up n.
  __device__ float bias_of(std::int64_t output) const {
    return bias == nullptr ? 0.0F : bias[output];
  }

  __device__ float residual_of(std::int64_t row, std::int64_t output) const {
    if (residual.data == nullptr) return 0.0F;
    return static_cast<const float*>(residual.data)[row * residual.stride + output];
  }

  /// `addend` is residual_of(row, output); the caller may read it early to save time.
  __device__ void store(std::int64_t row, std::int64_t output, float value, float addend) const {
    store_number(out, row, output, fmaf(spec.scale, value, addend));
  }

  /// Returns the weight of `output` in the norm after the product.
  __device__ float norm_weight_of(std::int64_t output) const {
    return norm_after.weight == nullptr ? 1.0F
                                        : norm_after.weight[output] + norm_after.weight_offset;
  }

  /// Prefetches the norm's weights of `count` outputs from `first` on. Threads 0, 1, ... call it.
  __device__ void fetch_norm_weights(std::int64_t first, int count, int thread) const {
    constexpr int kLine = 32;  // numbers in 128 bytes
    const std::int64_t output = first + thread * kLine;
    if (norm_after.weight == nullptr || thread * kLine >= count || output >= outputs) return;
    prefetch_line(norm_after.weight + output);
  }

  /// Writes to `roots` the factors for the sums of rows 0 .. kRows - 1, of which the first `rows`
  /// exist. kThreads threads call it; `thread` is the caller's index among these. The order in
  /// which a row's squares are added does not depend on the number of rows.
  template <int kThreads, int kRows>
  __device__ void load_roots(int thread, int rows, float* roots) const {
    constexpr int kWarps = kThreads / 32;
    constexpr int kTogether = kRows > 4 * kWarps ? 4 : (kRows + kWarps - 1) / kWarps;
    const int squares = static_cast<int>(inputs / kSquaredOutputs);
    const bool has_norm = norm_before.squares != nullptr;
    for (int first = thread / 32; first < kRows; first += kTogether * kWarps) {
      float sums[kTogether] = {};
#pragma unroll 4
      for (int i = thread % 32; has_norm && i < squares; i += 32) {
#pragma unroll
        for (int r = 0; r < kTogether; ++r) {
          const int row = first + r * kWarps;
          if (row < rows) sums[r] += __ldcg(norm_before.squares + row * squares + i);
        }
      }
#pragma unroll
      for (int r = 0; r < kTogether; ++r) {
        const int row = first + r * kWarps;
        const float mean = sum_of_lanes(sums[r]) / static_cast<float>(inputs);
        const float root = has_norm ? 1.0F / sqrtf(mean + norm_before.eps) : 1.0F;
        if (thread % 32 == 0 && row < kRows) roots[row] = root;
      }
    }
  }

  /// Returns the sum over a warp to all of its lanes.
  static __device__ float sum_of_lanes(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      value += __shfl_xor_sync(0xffffffffU, value, step);
    }
    return value;
  }

  const float* bias;
  DeviceRows residual;
  DeviceRows out;
  std::int64_t outputs;
  std::int64_t inputs;
  LinearSpec spec;
  NormBefore norm_before;
  NormAfter norm_after;
};
static_assert(kSquaredOutputs == 32, "a warp adds up the squares of its outputs");

/// Returns the row of a gated matrix with the gate of `output`; the up is kGateBlock rows further.
__host__ __device__ constexpr std::int64_t gate_row(std::int64_t output) {
  return output / kGateBlock * 2 * kGateBlock + output % kGateBlock;
}

}  // namespace weft::cuda
