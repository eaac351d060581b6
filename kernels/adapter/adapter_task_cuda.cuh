#pragma once

#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/cuda/row_cuda.cuh"

/// What all kernels that compute adapters share.
namespace weft::cuda {

/// A block's task; without rows where the step has fewer tasks than blocks.
__device__ inline CudaAdapterTask adapter_task(const CudaAdapterTasks& tasks, unsigned index) {
  return static_cast<int>(index) < *tasks.count ? tasks.tasks[index] : CudaAdapterTask{};
}

__device__ inline const std::byte* adapter_place(const CudaAdapterPlaces& places, int place) {
  return places.data + place * places.bytes;
}

/// The pair of a task's adapter for a site; without tiles where it has none.
__device__ inline CudaAdapterPair adapter_pair(const CudaAdapterPlaces& places,
                                               const CudaAdapterTask& task, int site) {
  if (task.place < 0) return {};
  return reinterpret_cast<const CudaAdapterPair*>(adapter_place(places, task.place))[site];
}

/// Two numbers in bf16, and what that leaves out in bf16.
__device__ inline void split_pair(float2 of, std::uint32_t& high, std::uint32_t& rest) {
  high = narrow_pair(DType::kBF16, of.x, of.y);
  const float2 rounded = widen_pair(DType::kBF16, high);
  rest = narrow_pair(DType::kBF16, of.x - rounded.x, of.y - rounded.y);
}

/// Numbers of A in a warp's order: one run of inputs, and both halves of a tile's ranks, each the n
/// of a product.
struct RunWeights {
  uint4 half[2];
};

/// `weights` is a lane's first vector of a tile.
__device__ inline RunWeights load_run_weights(const uint4* weights, int run) {
  return {{weights[run * 2 * kWarp], weights[(run * 2 + 1) * kWarp]}};
}

/// Adds the products of a run of inputs to the sums of 16 rows and 16 ranks: `x` and `y` are
/// columns threadIdx.x % 4 * 8 .. + 7 of the run, of rows lane / 4 and 8 further.
__device__ inline void add_run(float (&sums)[2][4], const uint4& x, const uint4& y,
                               const RunWeights& weights) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4& of = weights.half[half];
    multiply_add<__nv_bfloat16>(sums[half], {x.x, y.x, x.y, y.y}, of.x, of.y);
    multiply_add<__nv_bfloat16>(sums[half], {x.z, y.z, x.w, y.w}, of.z, of.w);
  }
}

/// The left side of products with a tile of ranks: rows of low in bf16, and what that leaves out.
struct LowRows {
  __device__ void put(int at, float2 of) { split_pair(of, high[at], rest[at]); }
  std::uint32_t high[4];
  std::uint32_t rest[4];
};

/// Adds the products of a panel of B with low rows: halves of the outputs, then of the rows.
__device__ inline void add_panel(float (&sums)[2][4], const LowRows& low, const uint4& weights) {
  multiply_add<__nv_bfloat16>(sums[0], low.rest, weights.x, weights.y);
  multiply_add<__nv_bfloat16>(sums[1], low.rest, weights.z, weights.w);
  multiply_add<__nv_bfloat16>(sums[0], low.high, weights.x, weights.y);
  multiply_add<__nv_bfloat16>(sums[1], low.high, weights.z, weights.w);
}

}  // namespace weft::cuda
