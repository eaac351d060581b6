#include <algorithm>

#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/rotary/rotary.h"
#include "weft/kernels/rotary/rotary_heads_cuda.cuh"

namespace weft::cuda {
namespace {

// Heads of a block, with a warp for each. They are few, so that even one token is spread over the
// device.
constexpr int kWarps = 4;
// A norm over all heads needs all heads in one block.
constexpr int kMostWarps = 16;

/// Returns the section of a row's heads [begin, end) that lies in one kind's heads [first, first +
/// count). The kinds are queries, keys and values.
__device__ Section part_of(int begin, int end, int first, int count) {
  Section section{};
  section.first = max(begin, first);
  section.count = max(min(end, first + count) - section.first, 0);
  section.index = section.first - first;
  return section;
}

__global__ void __launch_bounds__(kMostWarps* kWarp)
    rotate_kernel(const __grid_constant__ CudaRotaryParams params, int heads_at_once) {
  WEFT_DYNAMIC_SHARED(float, heads);
  __shared__ float sums[kWarp];
  let_successor_start();
  wait_for_predecessor();
  const int begin = static_cast<int>(blockIdx.y) * heads_at_once;
  const int end = begin + heads_at_once;
  const bool stores = params.kv.keys != nullptr;

  Section queries = part_of(begin, end, 0, params.shape.heads);
  queries.norm = &params.query_norm;
  queries.turns = true;
  queries.grows = true;
  Section keys = part_of(begin, end, params.shape.heads, params.shape.kv_heads);
  keys.norm = &params.key_norm;
  keys.turns = true;
  keys.cache = stores ? params.kv.keys : nullptr;
  Section values =
      part_of(begin, end, params.shape.heads + params.shape.kv_heads, params.shape.kv_heads);
  values.norm = &params.value_norm;
  values.cache = stores ? params.kv.values : nullptr;

  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const TokenHeads block(params, blockIdx.x, angles_of(params, blockIdx.x),
                         {warp, static_cast<int>(blockDim.x) / kWarp}, heads, sums);
  for (const Section& section : {queries, keys, values}) {
    if (section.count == 0) continue;
    block.make(section);
    block.write(section);
    if (section.cache != nullptr) block.store(section);
  }
}

}  // namespace

Status rotate_and_store(const CudaRotaryParams& params, Stream stream) {
  const int heads = params.shape.heads + 2 * params.shape.kv_heads;
  if (params.rows == 0 || heads == 0) return Status::kSuccess;
  const auto wants_all = [](const HeadNorm& norm) {
    return norm.spec.enabled && is_over_all(norm);
  };
  const bool together =
      wants_all(params.query_norm) || wants_all(params.key_norm) || wants_all(params.value_norm);
  const int at_once = together ? heads : kWarps;
  const int warps = together ? kMostWarps : kWarps;
  const std::size_t bytes =
      sizeof(float) * static_cast<std::size_t>(params.shape.head_size) *
      static_cast<std::size_t>(together ? std::max(params.shape.heads, params.shape.kv_heads)
                                        : kWarps);
  constexpr std::size_t kPlainBytes = std::size_t{48} << 10U;
  if (bytes > kPlainBytes) {
    const auto error = cudaFuncSetAttribute(
        rotate_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (error != cudaSuccess) return status_of(error);
  }
  const dim3 grid(static_cast<unsigned>(params.rows),
                  static_cast<unsigned>((heads + at_once - 1) / at_once));
  return launch(rotate_kernel, grid, dim3(static_cast<unsigned>(warps * kWarp)), bytes, stream,
                params, at_once);
}

}  // namespace weft::cuda
