#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/linear/linear_codes_kinds_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_ring_cuda.cuh"
#include "weft/kernels/linear/linear_epilogue_cuda.cuh"
#include "weft/kernels/linear/linear_outputs_cuda.cuh"

/// Writes the outputs of kCodes for many tokens.
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Writes outputs of a tile through shared memory, as in the flat product: threads stage their
/// sums, wait for each other, and write them.
template <class Sizes>
class TileOutputs {
 public:
  __device__ TileOutputs(const TileShared<Sizes>& shared, const CodesProduct& product,
                         const LinearEpilogue& epilogue, unsigned tile, int thread)
      : shared_(shared),
        epilogue_(epilogue),
        place_(product, tile),
        gated_(product.gated),
        thread_(thread),
        outputs_(shared.staged, product.gated, epilogue, place_.rows, thread) {
    if constexpr (kNormed) {  // the roots are read after a barrier
      epilogue.load_roots<kMultipliers, Sizes::kTokens>(thread, place_.tokens, shared.roots);
    }
  }

  /// Stages a thread's sums of eight of the tile's tokens.
  __device__ void stage(int eight, const float (&sums)[4]) const {
    const int row = thread_ / 32 * 16 + thread_ % 32 / 4;
    const int pair = thread_ % 4 * 2;
    float* at = shared_.staged + (eight * 8 + pair) * Sizes::kStagedStride + row;
    float first = 1;
    float second = 1;
    if constexpr (kNormed) {
      first = shared_.roots[eight * 8 + pair];
      second = shared_.roots[eight * 8 + pair + 1];
    }
    at[0] = sums[0] * first;
    at[Sizes::kStagedStride] = sums[1] * second;
    at[8] = sums[2] * first;
    at[Sizes::kStagedStride + 8] = sums[3] * second;
  }

  /// Writes a tile that was not cut.
  __device__ void write_all(const float (&sums)[Sizes::kTokens / 2]) const {
    // All threads have written the previously staged sums and read the rings.
    meet(1, kMultipliers);
#pragma unroll
    for (int i = 0; i < Sizes::kTokens / 8; ++i) {
      if (i * 8 >= place_.tokens) break;
      const float four[4] = {sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]};
      stage(i, four);
    }
    meet(1, kMultipliers);
    outputs_.write(place_.first_token, place_.tokens);
  }

 private:
  static constexpr bool kNormed = Sizes::kTokens <= kNormedTokens;

  const TileShared<Sizes>& shared_;
  const LinearEpilogue& epilogue_;
  TilePlace<Sizes> place_;
  bool gated_;
  int thread_;
  FourOutputs<kTileRows, Sizes::kTokens, Sizes::kStagedStride, kMultipliers, kBoxRows, kNormed>
      outputs_;
};

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
