#pragma once

#include "weft/kernels/linear/linear_codes_convert_cuda.cuh"
#include "weft/kernels/linear/linear_codes_kinds_cuda.cuh"
#include "weft/kernels/linear/linear_codes_load_cuda.cuh"
#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"
#include "weft/kernels/linear/linear_codes_start_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_cuda.cuh"

/// The kernel of kCodes for an encoding, and its launch.
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

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
      if (++position.slot == Sizes::kDepth) {
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
    const StagedSums<kTileRows, Sizes::kStagedStride> staged{shared.staged, product.gated,
                                                             kBoxRows};
    staged.template write<kHalfThreads>(epilogue, threadIdx.x, 0, product.tokens, tile,
                                        [](int column) { return column; });
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <class Encoding, int kTokens>
__global__ void __launch_bounds__(Layout<Encoding, kTokens>::kThreads,
                                  Layout<Encoding, kTokens>::kBlocks)
    codes_kernel(const __grid_constant__ CUtensorMap weights,
                 const __grid_constant__ CUtensorMap inputs, const CodesProduct product,
                 const LinearEpilogue epilogue) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Sizes = Layout<Encoding, kTokens>;
  WEFT_DYNAMIC_SHARED(std::byte, memory);
  const Shared<Sizes> shared(memory);
  if (threadIdx.x == kProducer) {
    if constexpr (!Encoding::kBoxed) prefetch_map(&weights);
    prefetch_map(&inputs);
    for (int slot = 0; slot < Sizes::kDepth; ++slot) {
      init_barrier(&shared.full[slot], 1);
      init_barrier(&shared.empty[slot], kHalves * kRowWarps);
      if constexpr (Sizes::kConverts) {
        init_barrier(&shared.rows_full[slot], 1);
        init_barrier(&shared.ready[slot], 1);
      }
    }
    publish_barriers();
  }
  __syncthreads();
  let_successor_start();
  if (Sizes::kConverts && threadIdx.x >= kConverter) {
    if constexpr (Sizes::kConverts) convert_tokens<Sizes>(shared, product);
  } else if (threadIdx.x >= kProducer) {
    if (threadIdx.x == kProducer) produce<Sizes>(shared, product, &weights, &inputs);
  } else {
    consume<Sizes>(shared, product, epilogue);
  }
#endif
}

template <class Encoding, int kTokens>
Status start(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  using Sizes = Layout<Encoding, kTokens>;
  return start_kernel<Sizes>(codes_kernel<Encoding, kTokens>, Sizes::kThreads, Sizes::kBlocks,
                             params, device, stream);
}

template <class Encoding, int kTokens>
Status allow_shared() {
  return status_of(cudaFuncSetAttribute(codes_kernel<Encoding, kTokens>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        Layout<Encoding, kTokens>::kBytes));
}

template <class Encoding>
Status allow_all_shared() {
  using Allow = Status (*)();
  Status status = Status::kSuccess;
  for (const Allow allow : {allow_shared<Encoding, 8>, allow_shared<Encoding, 16>,
                            allow_tile_shared<Encoding, 32>, allow_tile_shared<Encoding, 64>,
                            allow_tile_shared<Encoding, 128>, allow_tile_shared<Encoding, 256>}) {
    if (status == Status::kSuccess) status = allow();
  }
  return status;
}

template <class Encoding>
Status run_padded(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  static_assert(kStreamedTokens == 16 && kNormedTokens == 32 && kMaxCutTokens == 128);
  if (params.rows <= 8) return start<Encoding, 8>(params, device, stream);
  if (params.rows <= kStreamedTokens) return start<Encoding, 16>(params, device, stream);
  if (params.rows <= kNormedTokens) return start_tiles<Encoding, 32>(params, device, stream);
  if (params.rows <= 64) return start_tiles<Encoding, 64>(params, device, stream);
  if (params.rows <= kMaxCutTokens) return start_tiles<Encoding, 128>(params, device, stream);
  return start_whole_tiles<Encoding>(params, device, stream);
}

template <class Encoding>
constexpr CodesKind kind_of() {
  return {.prepare = allow_all_shared<Encoding>,
          .run = run_padded<Encoding>,
          .columns = Encoding::kColumns};
}

}  // namespace weft::cuda::codes
