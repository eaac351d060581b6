#pragma once

#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/cuda/row_cuda.cuh"

/// Shared by all kernels that compute adapters.
namespace weft::cuda {

/// Returns a block's task; without rows if the step has fewer tasks than blocks.
__device__ inline CudaAdapterTask adapter_task(const CudaAdapterTasks& tasks, unsigned index) {
  return static_cast<int>(index) < *tasks.count ? tasks.tasks[index] : CudaAdapterTask{};
}

__device__ inline const std::byte* adapter_place(const CudaAdapterPlaces& places, int place) {
  return places.data + place * places.bytes;
}

/// Returns the pair of a task's adapter for a site; without tiles if the adapter has none.
__device__ inline CudaAdapterPair adapter_pair(const CudaAdapterPlaces& places,
                                               const CudaAdapterTask& task, int site) {
  if (task.place < 0) return {};
  return reinterpret_cast<const CudaAdapterPair*>(adapter_place(places, task.place))[site];
}

/// The number of bf16 parts that add up to a float32 number, each part rounded from the remainder.
/// kFewParts is the number that suffices where products are rounded to bf16 anyway.
constexpr int kFloatParts = 3;
constexpr int kFewParts = 2;

/// Two numbers as sums of parts, the greatest part first.
template <int kParts>
__device__ void split_pair(float2 of, std::uint32_t (&parts)[kParts]) {
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    parts[i] = narrow_pair(DType::kBF16, of.x, of.y);
    const float2 rounded = widen_pair(DType::kBF16, parts[i]);
    of = {of.x - rounded.x, of.y - rounded.y};
  }
}

/// A warp's numbers of A: one run of inputs by both halves of a tile's ranks. Each half is the n of
/// a product.
struct RunWeights {
  uint4 half[2];
};

/// `weights` points to a lane's first vector of a tile.
__device__ inline RunWeights load_run_weights(const uint4* weights, int run) {
  return {{weights[run * 2 * kWarp], weights[(run * 2 + 1) * kWarp]}};
}

/// Adds the products of a run of inputs to the sums of 16 rows and 16 ranks. `x` and `y` are
/// columns threadIdx.x % 4 * 8 .. + 7 of the run, of rows lane / 4 and lane / 4 + 8.
__device__ inline void add_run(float (&sums)[2][4], const uint4& x, const uint4& y,
                               const RunWeights& weights) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4& of = weights.half[half];
    multiply_add<__nv_bfloat16>(sums[half], {x.x, y.x, x.y, y.y}, of.x, of.y);
    multiply_add<__nv_bfloat16>(sums[half], {x.z, y.z, x.w, y.w}, of.z, of.w);
  }
}

/// The left side of products with a tile of ranks: rows of `low` as parts of bf16.
template <int kParts>
struct LowRows {
  __device__ void put(int at, float2 of) {
    std::uint32_t split[kParts];
    split_pair(of, split);
#pragma unroll
    for (int i = 0; i < kParts; ++i) parts[i][at] = split[i];
  }
  std::uint32_t parts[kParts][4];
};

/// Adds the products of a panel of B and rows of `low`. `sums` is indexed by half of the outputs,
/// then by half of the rows.
template <int kParts>
__device__ void add_panel(float (&sums)[2][4], const LowRows<kParts>& low, const uint4& weights) {
#pragma unroll
  for (int i = kParts - 1; i >= 0; --i) {
    multiply_add<__nv_bfloat16>(sums[0], low.parts[i], weights.x, weights.y);
    multiply_add<__nv_bfloat16>(sums[1], low.parts[i], weights.z, weights.w);
  }
}

}  // namespace weft::cuda
