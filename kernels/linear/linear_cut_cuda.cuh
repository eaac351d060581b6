#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/cuda/instructions_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"

/// Stream-K (arXiv 2301.03598) for products whose weights stream through shared memory. A unit is a
/// block of columns of a tile of rows. Units are cut evenly among the blocks of a launch; the
/// parts of a tile that was cut meet in the workspace, and the first of its blocks adds them up in
/// the order of their columns. The cut does not know the number of tokens, so a row's bits do not
/// depend on it.
namespace weft::cuda {

/// The units of a product. Units times blocks fits 32 bits.
struct Cut {
  unsigned units;       ///< numbered tile by tile
  unsigned tile_units;  ///< units of one tile, along K
};

/// Where the parts of a tile meet: CudaLinearParams::workspace.
struct CutSums {
  unsigned* counters;  ///< by group of rows of a tile
  float4* partials;    ///< [blocks, groups of a tile, sums / 4, threads of a group]
};

__device__ inline unsigned first_of(const Cut& cut, unsigned block) {
  return block * cut.units / gridDim.x;
}
__device__ inline unsigned owner_of(const Cut& cut, unsigned unit) {
  return ((unit + 1) * gridDim.x - 1) / cut.units;
}

/// Whether this block finishes a tile, whose other parts it adds to its own.
__device__ inline bool finishes(const Cut& cut, unsigned tile) {
  return blockIdx.x == owner_of(cut, tile * cut.tile_units);
}

/// Adds up the rows of a tile that blocks share; kThreads threads hold them, `thread` is the
/// caller's number among them. `group` is one of the tile's kGroups groups and meets at barrier 1 +
/// group. The first block, whose last tile it is, waits for the others' sums, adds them to its own
/// in the order of their columns and returns true; the others leave theirs in the workspace and go
/// on. Waiting for later blocks is safe: a launch has only as many blocks as run at once.
template <int kGroups, int kThreads, int kSums>
__device__ bool put_together(const Cut& cut, const CutSums& meeting, unsigned tile, int group,
                             int thread, float (&sums)[kSums]) {
  constexpr int kQuads = kSums / 4;
  constexpr unsigned kTogether = kQuads >= 4 ? 1 : kQuads >= 2 ? 2 : 4;  // parts on their way
  const auto part_of = [&](unsigned block) {
    return meeting.partials + std::size_t{block * kGroups + group} * (kQuads * kThreads) + thread;
  };
  const unsigned begin = owner_of(cut, tile * cut.tile_units);
  const unsigned end = owner_of(cut, (tile + 1) * cut.tile_units - 1);
  unsigned* counter = meeting.counters + tile * kGroups + group;
  if (blockIdx.x != begin) {
    float4* part = part_of(blockIdx.x);
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      __stcg(part + i * kThreads,
             make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]));
    }
    meet(1 + group, kThreads);
    if (thread == 0) {
      __threadfence();
      atomicAdd(counter, 1U);
    }
    return false;
  }

  if (thread == 0) {
    while (read_acquiring(counter) != end - begin) {
    }
    *counter = 0;
  }
  meet(1 + group, kThreads);
  for (unsigned block = begin + 1; block <= end; block += kTogether) {
    float4 found[kTogether][kQuads];
#pragma unroll
    for (unsigned p = 0; p < kTogether; ++p) {
      const float4* part = part_of(min(block + p, end));
#pragma unroll
      for (int i = 0; i < kQuads; ++i) found[p][i] = __ldcg(part + i * kThreads);
    }
#pragma unroll
    for (unsigned p = 0; p < kTogether; ++p) {
      if (block + p > end) continue;
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        sums[4 * i] += found[p][i].x;
        sums[4 * i + 1] += found[p][i].y;
        sums[4 * i + 2] += found[p][i].z;
        sums[4 * i + 3] += found[p][i].w;
      }
    }
  }
  return true;
}

/// Sums in shared memory, [tokens, kStride], for a group of kRows rows of a tile.
template <int kRows, int kStride>
struct StagedSums {
  const float* at;
  bool gated;
  int up_distance;  ///< from a gate's row to that of its up

  /// Writes `out` for tokens first .. first + count, by kThreads threads. `tile` counts groups of
  /// kRows rows. `row_of` returns the row with the output or gate of a column.
  template <int kThreads, class RowOf>
  __device__ void write(const LinearEpilogue& epilogue, int thread, int first, int count,
                        unsigned tile, RowOf row_of) const {
    constexpr int kBatch = 4;  // residuals that are read together
    const int outputs = gated ? kRows / 2 : kRows;
    const int step = kThreads / outputs;
    const int column = thread % outputs;
    const std::int64_t output = std::int64_t{tile} * outputs + column;
    if (output >= epilogue.outputs) return;
    const float* mine = at + (gated ? row_of(column) : column);
    const float bias = epilogue.bias_of(output);
    const float norm_weight = epilogue.norm_weight_of(output);
    const float up_bias = gated ? epilogue.bias_of(epilogue.outputs + output) : 0.0F;
    for (int begin = thread / outputs; begin < count; begin += kBatch * step) {
      float addends[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int token = begin + i * step;
        addends[i] = token < count ? epilogue.residual_of(first + token, output) : 0.0F;
      }
      // Not unrolled: a block comes here once or twice, and waits for each instruction to be
      // fetched.
#pragma unroll 1
      for (int i = 0; i < kBatch; ++i) {
        const int token = begin + i * step;
        if (token >= count) break;
        const float* sum = mine + token * kStride;
        const float value =
            gated ? gated_output(epilogue.spec, sum[0] + bias, sum[up_distance] + up_bias)
                  : plain_output(epilogue.spec, sum[0] + bias);
        float addend = addends[0];
#pragma unroll
        for (int j = 1; j < kBatch; ++j) addend = i == j ? addends[j] : addend;
        epilogue.store_for_norm(first + token, output, value, addend, norm_weight);
      }
    }
  }
};

}  // namespace weft::cuda
