#pragma once

#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/cuda/row_cuda.cuh"

/// What the two halves of an adapter's kernels share.
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

}  // namespace weft::cuda
