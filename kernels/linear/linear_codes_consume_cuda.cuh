#pragma once

#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"

/// The warps that multiply units of codes, however these come to shared memory.
namespace weft::cuda::codes {

/// A warp's position in the ring.
struct Position {
  unsigned slot = 0;
  unsigned parity = 0;
};

/// Calls what(sum, token, row) for each of a lane's sums, rows in the warp.
template <class Sizes, class What>
__device__ void each_sum(Sums<Sizes>& sums, What what) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int t = 0; t < Sizes::kTokens / 8; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        what(sums[m][t][i], t * 8 + token_of<Sizes>(lane % 4 * 2 + i % 2),
             m * 16 + i / 2 * 8 + lane / 4);
      }
    }
  }
}

template <class Sizes>
__device__ void consume(const Shared<Sizes>& shared, const CodesProduct& product,
                        const LinearEpilogue& epilogue) {
  const Cut& cut = product.cut;
  const Lane at;
  std::byte* scales = shared.scales + threadIdx.x / 32 * (kWarpRows * kScaleBytes);
  const auto place_of = [&](int token, int row) {
    return shared.staged + token * Sizes::kStagedStride + at.first_row + row;
  };
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
    // The second half hands its sums to the first, once the first is done with earlier sums.
    meet(kFreeBarrier, kProducer);
    if (at.half == 1) {
      each_sum<Sizes>(sums, [&](float sum, int token, int row) { *place_of(token, row) = sum; });
    }
    meet(kStagedBarrier, kProducer);
    if (at.half == 1) continue;
    each_sum<Sizes>(sums, [&](float& sum, int token, int row) { sum += *place_of(token, row); });
    // While the others' parts are on their way.
    if (finishes(cut, tile)) {
      epilogue.load_roots<kHalfThreads, Sizes::kTokens>(static_cast<int>(threadIdx.x),
                                                        product.tokens, shared.roots);
      meet(1, kHalfThreads);
    }
    auto& flat = reinterpret_cast<float(&)[Sizes::kTokens]>(sums);
    if (!whole &&
        !put_together<1, kHalfThreads>(cut, product.meeting, tile, 0, threadIdx.x, flat)) {
      continue;
    }
    each_sum<Sizes>(sums, [&](float sum, int token, int row) {
      *place_of(token, row) = sum * shared.roots[token];
    });
    meet(1, kHalfThreads);
    constexpr int kGateDistance = Sizes::Encoding::kGateDistance;
    const StagedSums<kTileRows, Sizes::kStagedStride> staged{shared.staged, product.gated,
                                                             kGateDistance};
    staged.template write<kHalfThreads>(
        epilogue, threadIdx.x, 0, product.tokens, tile, [](int column) {
          return column / kGateDistance * 2 * kGateDistance + column % kGateDistance;
        });
  }
}

}  // namespace weft::cuda::codes
