#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/linear/linear_codes_tile_ring_cuda.cuh"

/// The warpgroups of kCodes for many tokens that unpack weights.
///
/// Each lane of a warp makes an Encoding::Weights for a half of a unit:
///   Weights(weights, scales, at)
///   column(chunk, turn)    the first of its eight columns in a chunk of the half; turn is 0 or 1
///   load(chunk, turn, to)  these columns of rows quad, quad + 8, + 16 and + 24
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Unpacks a half of a unit.
template <class Sizes>
__device__ void unpack_half(const TileShared<Sizes>& shared, const std::byte* unit, const Lane& at,
                            RingPlace<Sizes::kSlots>& slot) {
  std::byte* scales = shared.scales + threadIdx.x / 32 * (kWarpRows * kScaleBytes);
  const int row_at = (at.first_row + at.quad) * kChunkRowBytes;
  const typename Sizes::Encoding::Weights weights(unit, scales, at);
#pragma unroll
  for (int chunk = 0; chunk < Sizes::kHalfChunks; ++chunk) {
    wait(&shared.empty[slot.slot], slot.parity ^ 1U);
    std::byte* to = shared.chunk(slot.slot) + row_at;
#pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
      uint4 rows[4];
      weights.load(chunk, turn, rows);
      std::byte* at_column = to + (weights.column(chunk, turn) % kChunkColumns / 8 ^ at.quad) * 16;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        *reinterpret_cast<uint4*>(at_column + i * 8 * kChunkRowBytes) = rows[i];
      }
    }
    publish_to_products();
    __syncwarp();
    if (at.own == 0) arrive(&shared.full[slot.slot]);
    slot.advance();
  }
}

/// Unpacks the warpgroup's half of every unit. The second half is unpacked later than the first, so
/// a thread of its warpgroup loads the units.
template <class Sizes>
__device__ void unpack(const TileShared<Sizes>& shared, const CodesProduct& product,
                       const CUtensorMap* map) {
  const unsigned count = first_of(product.cut, blockIdx.x + 1) - first_of(product.cut, blockIdx.x);
  const Lane at;
  const bool loads = threadIdx.x == kHalfThreads;
  UnitLoader<Sizes> loader(shared, product, map);
  if (loads) loader.fill();
  RingPlace<Sizes::kDepth> place;
  RingPlace<Sizes::kSlots> slot(at.half * Sizes::kHalfChunks);
  for (unsigned unit = 0; unit < count; ++unit) {
    wait(&shared.unit_full[place.slot], place.parity);
    unpack_half<Sizes>(shared, shared.unit(place.slot), at, slot);
    slot.advance(Sizes::kHalfChunks);  // past the other half's
    __syncwarp();
    if (at.own == 0) arrive(&shared.unit_empty[place.slot]);
    if (loads && unit + Sizes::kDepth < count) {
      wait(&shared.unit_empty[place.slot], place.parity);
      loader.load(place.slot);
    }
    __syncwarp();
    place.advance();
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
