#pragma once

#include <cstdint>

#include "weft/kernels/linear/linear_codes_start_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_output_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_ring_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_unpack_cuda.cuh"

/// The kernel of kCodes for many tokens. Two warpgroups unpack weights into shared memory, each a
/// half of every unit, in chunks of 64 columns, as scaled numbers of bf16. Two others multiply each
/// chunk by all tokens. One thread that unpacks loads units; one that multiplies loads tokens.
/// Units are cut among the multiprocessors by linear_cut_cuda.cuh, for every number of tokens
/// alike.
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// The sums of `count` chunks, from zero.
template <class Sizes>
__device__ void multiply_chunks(const TileShared<Sizes>& shared, unsigned count, int thread,
                                InputLoader<Sizes>& loader, RingPlace<Sizes::kSlots>& place,
                                float (&sums)[Sizes::kTokens / 2]) {
  constexpr int kStep = 16;  // the k of a product: 32 bytes of a row
  const auto release = [&](const RingPlace<Sizes::kSlots>& of) {
    if (thread % 32 == 0) arrive(&shared.empty[of.slot]);
    if (thread == 0 && loader.has_more()) {
      wait(&shared.empty[of.slot], of.parity);
      loader.load(of.slot);
    }
  };
  RingPlace<Sizes::kSlots> before = place;
  for (unsigned i = 0; i < count; ++i) {
    wait(&shared.full[place.slot], place.parity);
    const std::uint64_t left =
        matrix_descriptor(shared.chunk(place.slot) + thread / 128 * (kChunkBytes / 2));
    const std::uint64_t right = matrix_descriptor(shared.inputs(place.slot));
    __syncwarp();
    begin_products();
#pragma unroll
    for (int k = 0; k < kChunkColumns / kStep; ++k) {
      WarpgroupProduct<__nv_bfloat16, Sizes::kTokens>::add(
          sums, left + k * (kStep * 2 / 16), right + k * (kStep * 2 / 16), k > 0 || i > 0);
    }
    commit_products();
    wait_products<1>();
    if (i > 0) release(before);
    before = place;
    place.advance();
  }
  wait_products<0>();
  release(before);
  __syncwarp();
}

template <class Sizes>
__device__ void multiply_tiles(const TileShared<Sizes>& shared, const CodesProduct& product,
                               const LinearEpilogue& epilogue, const CUtensorMap* map) {
  const Cut& cut = product.cut;
  const int thread = static_cast<int>(threadIdx.x) - kUnpackers;
  const unsigned end = first_of(cut, blockIdx.x + 1);
  RingPlace<Sizes::kSlots> place;
  InputLoader<Sizes> loader(shared, cut, map);
  wait_for_predecessor();
  if (thread == 0) loader.fill();
  for (unsigned unit = first_of(cut, blockIdx.x); unit < end;) {
    const unsigned tile = unit / cut.tile_units;
    const unsigned tile_end = (tile + 1) * cut.tile_units;
    const unsigned part_end = min(end, tile_end);
    float sums[Sizes::kTokens / 2];
    multiply_chunks<Sizes>(shared, (part_end - unit) * Sizes::kUnitChunks, thread, loader, place,
                           sums);
    const bool whole = unit == tile_end - cut.tile_units && part_end == tile_end;
    if (whole || put_together<1, kMultipliers>(cut, product.meeting, tile, 0, thread, sums)) {
      finish_tile<Sizes>(shared, product, epilogue, tile, thread, sums);
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
  // A thread that unpacks and one that multiplies share 256 registers. Sums take more of them.
  constexpr int kOfUnpacker = 88;
  constexpr int kOfMultiplier = 168;
  extern __shared__ std::byte memory[];
  const TileShared<Sizes> shared(memory);
  if (threadIdx.x == 0) {
    if constexpr (!Encoding::kBoxed) prefetch_map(&weights);
    prefetch_map(&inputs);
    shared.init_barriers();
  }
  __syncthreads();
  let_successor_start();
  if (threadIdx.x < kUnpackers) {
    give_registers<kOfUnpacker>();
    unpack<Sizes>(shared, product, &weights);
  } else {
    take_registers<kOfMultiplier>();
    multiply_tiles<Sizes>(shared, product, epilogue, &inputs);
  }
#endif
}

template <class Encoding, int kTokens>
Status start_tiles(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  return start_kernel<TileLayout<Encoding, kTokens>>(codes_tile_kernel<Encoding, kTokens>,
                                                     kTileThreads, 1, params, device, stream);
}

template <class Encoding, int kTokens>
Status allow_tile_shared() {
  return status_of(cudaFuncSetAttribute(codes_tile_kernel<Encoding, kTokens>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        TileLayout<Encoding, kTokens>::kBytes));
}

}  // namespace weft::cuda::codes
