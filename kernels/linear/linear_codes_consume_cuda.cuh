#pragma once

#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"
#include "weft/kernels/linear/linear_outputs_cuda.cuh"

/// The warps that multiply units of codes, independent of how the units reach shared memory.
namespace weft::cuda::codes {

/// A warp's position in the ring.
struct Position {
  unsigned slot = 0;
  unsigned parity = 0;
};

// Rows of a warp for which one half of the columns finishes the sums.
constexpr int kFinishedRows = kWarpRows / kHalves;

template <class Sizes>
using HalfSums = float[Sizes::kTokens / 8][4];  ///< Sums of kFinishedRows rows

/// Calls what(sum, token, row) for each of a lane's sums; `row` counts within its kFinishedRows.
template <class Sizes, class What>
__device__ void each_sum(HalfSums<Sizes>& sums, What what) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < Sizes::kTokens / 8; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      what(sums[t][i], t * 8 + token_of<Sizes>(lane % 4 * 2 + i % 2), i / 2 * 8 + lane / 4);
    }
  }
}

/// Adds up the sums of the two halves of the columns. Each half hands over the sums of the rows
/// that the other half finishes.
template <class Sizes>
__device__ void add_halves(const Shared<Sizes>& shared, const Lane& at, const Sums<Sizes>& sums,
                           HalfSums<Sizes>& own) {
  HalfSums<Sizes> handed;
#pragma unroll
  for (int t = 0; t < Sizes::kTokens / 8; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      own[t][i] = at.half == 0 ? sums[0][t][i] : sums[1][t][i];
      handed[t][i] = at.half == 0 ? sums[1][t][i] : sums[0][t][i];
    }
  }
  float* const rows = shared.staged + at.first_row;
  meet(kFreeBarrier, kProducer);  // all threads have read the earlier sums
  each_sum<Sizes>(handed, [&](float sum, int token, int row) {
    rows[token * Sizes::kStagedStride + (1 - at.half) * kFinishedRows + row] = sum;
  });
  meet(kStagedBarrier, kProducer);
  each_sum<Sizes>(own, [&](float& sum, int token, int row) {
    sum += rows[token * Sizes::kStagedStride + at.half * kFinishedRows + row];
  });
}

template <class Sizes>
__device__ void consume(const Shared<Sizes>& shared, const CodesProduct& product,
                        const LinearEpilogue& epilogue) {
  const Cut& cut = product.cut;
  const Lane at;
  std::byte* scales = shared.scales + threadIdx.x / 32 * (kWarpRows * kScaleBytes);
  const unsigned end = first_of(cut, blockIdx.x + 1);
  Position position;
  epilogue.fetch_norm_weights(first_of(cut, blockIdx.x) / cut.tile_units * kTileRows, 2 * kTileRows,
                              static_cast<int>(threadIdx.x));
  wait_for_predecessor();
  for (unsigned unit = first_of(cut, blockIdx.x); unit < end;) {
    const unsigned tile = unit / cut.tile_units;
    const unsigned tile_end = (tile + 1) * cut.tile_units;
    const unsigned part_end = min(end, tile_end);
    const bool whole = unit == tile_end - cut.tile_units && part_end == tile_end;
    Sums<Sizes> sums = {};
    for (; unit < part_end; ++unit) {
      wait(&shared.full[position.slot], position.parity);
      if constexpr (Sizes::kConverts) wait(&shared.ready[position.slot], position.parity);
      Sizes::Encoding::template add<Sizes>(shared.weights(position.slot),
                                           shared.inputs(position.slot), scales, at, sums);
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(&shared.empty[position.slot]);
      if (++position.slot == shared.depth) {
        position.slot = 0;
        position.parity ^= 1U;
      }
    }
    HalfSums<Sizes> own;
    add_halves<Sizes>(shared, at, sums, own);
    const int thread = static_cast<int>(threadIdx.x);
    if (finishes(cut, tile)) {  // while the other blocks' parts are in flight
      epilogue.load_roots<kProducer, Sizes::kTokens>(thread, product.tokens, shared.roots);
      meet(kStagedBarrier, kProducer);
    }
    auto& flat = reinterpret_cast<float(&)[Sizes::kTokens / 2]>(own);
    if (!whole && !put_together<kHalves, kHalfThreads>(cut, product.meeting, tile, at.half,
                                                       thread % kHalfThreads, flat)) {
      continue;
    }
    float* const rows = shared.staged + at.first_row + at.half * kFinishedRows;
    each_sum<Sizes>(own, [&](float sum, int token, int row) {
      rows[token * Sizes::kStagedStride + row] = sum * shared.roots[token];
    });
    meet(kStagedBarrier, kProducer);
    const FourOutputs<kTileRows, Sizes::kTokens, Sizes::kStagedStride, kProducer,
                      Sizes::Encoding::kGateDistance, true>
        outputs(shared.staged, product.gated, epilogue, tile, thread);
    outputs.write(0, product.tokens);
  }
}

}  // namespace weft::cuda::codes
