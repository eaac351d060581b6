#pragma once

#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/sample/ordered_key_cuda.cuh"

namespace weft::cuda {

/// A sum of weights in units of 2^-40, or a number of tokens.
using Units = unsigned long long;

__device__ inline Units warp_sum(Units value) {
#pragma unroll
  for (int other = kWarp / 2; other > 0; other /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, other);
  }
  return value;
}

/// Shared memory through which a Team exchanges numbers.
template <int kBlocks>
struct TeamRoom {
  Units warps[kWarp];
  // Two, in turn, so that numbers read after one barrier are not overwritten before the next.
  Units blocks[2][kBlocks];
};

/// The threads that make one choice: a block, or a cluster of blocks, each with a part of the row.
/// The first block, called the lead, does work for few threads. All threads call all functions.
template <int kBlocks>
class Team {
 public:
  static constexpr int kThreads = kBlocks == 1 ? 1024 : 512;
  static constexpr int kWarps = kThreads / kWarp;

  __device__ explicit Team(TeamRoom<kBlocks>& room) : room_(room) {}

  [[nodiscard]] __device__ int rank() const {
    return static_cast<int>(blockIdx.x % static_cast<unsigned>(kBlocks));
  }
  [[nodiscard]] __device__ bool leads() const { return rank() == 0; }

  __device__ void sync() const {
    if constexpr (kBlocks == 1) {
      __syncthreads();
    } else {
      meet_cluster();
    }
  }

  /// Returns another block's instance of a shared variable.
  template <class T>
  [[nodiscard]] __device__ T& of(int rank, T& variable) const {
    if constexpr (kBlocks == 1) {
      return variable;
    } else {
      return in_block_of_cluster(rank, variable);
    }
  }
  template <class T>
  [[nodiscard]] __device__ T& lead(T& variable) const {
    return of(0, variable);
  }

  __device__ Units sum(Units value) {
    return reduce(warp_sum(value), [](Units part) { return warp_sum(part); });
  }
  __device__ Key max(Key value) {
    return reduce(warp_max(value), [](Key part) { return warp_max(part); });
  }

  /// Writes a value for all blocks. One thread of the lead calls it; a sync() must follow.
  template <class T>
  __device__ void tell(T& variable, const T& value) const {
    for (int rank = 0; rank < kBlocks; ++rank) of(rank, variable) = value;
  }

 private:
  /// Combines the warps' values, then the blocks' values. combine() reduces a warp's values to one;
  /// 0 must be its neutral element.
  template <class Combine>
  __device__ Units reduce(Units value, const Combine& combine) {
    const unsigned warp = threadIdx.x / kWarp;
    if (threadIdx.x % kWarp == 0) room_.warps[warp] = value;
    __syncthreads();
    value = combine(threadIdx.x % kWarp < kWarps ? room_.warps[threadIdx.x % kWarp] : 0);
    if constexpr (kBlocks == 1) {
      __syncthreads();
    } else {
      turn_ ^= 1;
      Units* blocks = room_.blocks[turn_];
      if (threadIdx.x < kBlocks) of(static_cast<int>(threadIdx.x), blocks[rank()]) = value;
      sync();
      value = combine(threadIdx.x % kWarp < kBlocks ? blocks[threadIdx.x % kWarp] : 0);
    }
    return value;
  }

  TeamRoom<kBlocks>& room_;
  int turn_ = 0;
};

// Bounds measured on an H200: a cluster is faster than one block for rows long enough to be worth
// its barriers, and for so few rows that all clusters run at the same time.
inline constexpr std::int64_t kLongRow = 16'384;
inline constexpr std::int64_t kFewRows = 16;
inline constexpr int kClusterBlocks = 8;

/// Whether a cluster shares a row: as CudaSampleParams::blocks says, or by the sizes if it is 0.
[[nodiscard]] inline bool shares_rows(std::int32_t blocks, std::int64_t width, std::int64_t rows) {
  return blocks == 0 ? width >= kLongRow && rows <= kFewRows : blocks == kClusterBlocks;
}

/// Whether teams of kBlocks blocks are ever launched: without clusters a row has only one block.
template <int kBlocks>
inline constexpr bool kIsLaunched =
#if __CUDA_ARCH__ >= 900
    true;
#else
    kBlocks == 1;
#endif

/// Launches a team for each of `rows`: kClusterBlocks blocks of the kernel `shared` if a cluster
/// shares a row and the GPU has clusters, otherwise one block of the kernel `alone`.
template <class Params>
[[nodiscard]] Status launch_teams(void (*alone)(Params), void (*shared)(Params), bool shares,
                                  std::int64_t rows, Stream stream, const Params& params) {
  if (rows == 0) return Status::kSuccess;
  if (shares && has_hopper_code(reinterpret_cast<const void*>(alone))) {
    return launch_clusters(kClusterBlocks, shared,
                           dim3(static_cast<unsigned>(rows * kClusterBlocks)),
                           dim3(Team<kClusterBlocks>::kThreads), 0, stream, params);
  }
  return launch(alone, dim3(static_cast<unsigned>(rows)), dim3(Team<1>::kThreads), 0, stream,
                params);
}

}  // namespace weft::cuda
