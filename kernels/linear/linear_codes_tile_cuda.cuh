#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/linear/linear_codes_start_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_operands_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_output_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_ring_cuda.cuh"

/// The kernel of kCodes for many tokens. Each warp decodes 16 rows' codes to bf16 in registers, as
/// operands of a warpgroup's products with all tokens, which are in shared memory. It decodes a
/// chunk of 64 columns while the previous chunk is multiplied. Two threads load units of weights
/// and chunks of tokens. Up to kMaxCutTokens tokens, linear_cut_cuda.cuh cuts units among the
/// multiprocessors, the same way for every number of tokens. With more tokens, each block has a
/// tile.
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// The positions of a thread that multiplies, in the ring of units and in the ring of chunks.
template <class Sizes>
struct TilePlaces {
  RingPlace<Sizes::kSlots> chunk;
  RingPlace<Sizes::kDepth> unit;
};

/// Computes the sums of `count` units, from zero.
template <class Sizes>
__device__ void multiply_units(const TileShared<Sizes>& shared, unsigned count,
                               const OperandLane& at, TilePlaces<Sizes>& places,
                               float (&sums)[Sizes::kTokens / 2]) {
  constexpr int kStepBytes = 32;  // bytes of a token in a step
  std::byte* scales = shared.scales + at.first_row / kOperandRows * kWarpScaleBytes;
  unsigned before = 0;  // slot of the chunk that is currently multiplied
  ChunkOperands operands[2];
  for (unsigned unit = 0; unit < count; ++unit) {
    wait(&shared.unit_full[places.unit.slot], places.unit.parity);
    typename Sizes::Encoding::Operands weights(shared.unit(places.unit.slot), scales, at);
#pragma unroll
    for (int chunk = 0; chunk < Sizes::kUnitChunks; ++chunk) {
      ChunkOperands& own = operands[chunk % 2];
      weights.load(chunk, own);
      if (chunk == Sizes::kUnitChunks - 1) {
        __syncwarp();
        if (at.own == 0) arrive(&shared.unit_empty[places.unit.slot]);
      }
      wait(&shared.full[places.chunk.slot], places.chunk.parity);
      const std::uint64_t right = matrix_descriptor(shared.inputs(places.chunk.slot));
      __syncwarp();
      begin_products();
#pragma unroll
      for (int k = 0; k < kChunkSteps; ++k) {
        WarpgroupProduct<__nv_bfloat16, Sizes::kTokens>::add(
            sums, own[k], right + k * (kStepBytes / 16), unit > 0 || chunk > 0 || k > 0);
      }
      commit_products();
      wait_products<1>();
      if ((unit > 0 || chunk > 0) && at.own == 0) arrive(&shared.empty[before]);
      before = places.chunk.slot;
      places.chunk.advance();
    }
    places.unit.advance();
  }
  wait_products<0>();
  if (at.own == 0) arrive(&shared.empty[before]);
  __syncwarp();
}

template <class Sizes>
__device__ void multiply_tiles(const TileShared<Sizes>& shared, const CodesProduct& product,
                               const LinearEpilogue& epilogue) {
  const Cut& cut = product.cut;
  const int thread = static_cast<int>(threadIdx.x);
  const OperandLane at;
  const unsigned begin = first_unit(product, blockIdx.x);
  const unsigned end = first_unit(product, blockIdx.x + 1);
  TilePlaces<Sizes> places;
  if constexpr (Sizes::kTokens <= kNormedTokens) {
    const TilePlace<Sizes> place(product, begin / cut.tile_units);
    epilogue.fetch_norm_weights(place.rows * kTileRows, kTileRows, thread);
  }
  wait_for_predecessor();
  for (unsigned unit = begin; unit < end;) {
    const unsigned tile = unit / cut.tile_units;
    const unsigned tile_end = (tile + 1) * cut.tile_units;
    const unsigned part_end = min(end, tile_end);
    float sums[Sizes::kTokens / 2];
    multiply_units<Sizes>(shared, part_end - unit, at, places, sums);
    const bool whole = unit == tile_end - cut.tile_units && part_end == tile_end;
    if (whole || put_together<1, kMultipliers>(cut, product.meeting, tile, 0, thread, sums)) {
      TileOutputs<Sizes>(shared, product, epilogue, tile, thread).write_all(sums);
    }
    unit = part_end;
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <class Encoding, int kTokens>
__global__ void __launch_bounds__(kTileThreads, 1)
    codes_tile_kernel(const __grid_constant__ CUtensorMap weights,
                      const __grid_constant__ CUtensorMap inputs, const CodesProduct product,
                      const LinearEpilogue epilogue) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Sizes = TileLayout<Encoding, kTokens>;
  // Sums take most of a thread's registers.
  constexpr int kOfMultiplier = 232;
  constexpr int kOfLoader = 40;
  WEFT_DYNAMIC_SHARED(std::byte, memory);
  const TileShared<Sizes> shared(memory);
  if (threadIdx.x == 0) {
    if constexpr (!Encoding::kBoxed) prefetch_map(&weights);
    prefetch_map(&inputs);
    shared.init_barriers();
  }
  __syncthreads();
  let_successor_start();
  if (threadIdx.x < kMultipliers) {
    take_registers<kOfMultiplier>();
    multiply_tiles<Sizes>(shared, product, epilogue);
  } else {
    give_registers<kOfLoader>();
    if (threadIdx.x == kUnitThread) load_units<Sizes>(shared, product, &weights);
    if (threadIdx.x == kInputThread) {
      wait_for_predecessor();
      load_chunks<Sizes>(shared, product, &inputs);
    }
  }
#endif
}

template <class Encoding, int kTokens>
Status start_tiles(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  return start_kernel<TileLayout<Encoding, kTokens>>(codes_tile_kernel<Encoding, kTokens>,
                                                     kTileThreads, 1, params, device, stream);
}

/// As start_tiles(), with more tokens than one tile has.
template <class Encoding>
Status start_whole_tiles(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  // The relative times of tiles of 64, 128 and 256 tokens. The processors multiply tiles in
  // parallel, in rounds.
  constexpr std::int64_t kTime64 = 3;
  constexpr std::int64_t kTime128 = 4;
  constexpr std::int64_t kTime256 = 7;
  const auto time = [&](std::int64_t tokens, std::int64_t of_tile) {
    const std::int64_t tiles = tiles_of(params.weight) * ((params.rows + tokens - 1) / tokens);
    return (tiles + device.processors - 1) / device.processors * of_tile;
  };
  const std::int64_t by_64 = time(64, kTime64);
  const std::int64_t by_128 = time(128, kTime128);
  const std::int64_t by_256 = time(256, kTime256);
  if (by_64 < std::min(by_128, by_256)) return start_tiles<Encoding, 64>(params, device, stream);
  return by_256 <= by_128 ? start_tiles<Encoding, 256>(params, device, stream)
                          : start_tiles<Encoding, 128>(params, device, stream);
}

template <class Encoding, int kTokens>
Status allow_tile_shared() {
  return status_of(cudaFuncSetAttribute(codes_tile_kernel<Encoding, kTokens>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        TileLayout<Encoding, kTokens>::kBytes));
}

}  // namespace weft::cuda::codes
