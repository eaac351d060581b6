#pragma once

#include "weft/kernels/linear/linear_codes_consume_cuda.cuh"
#include "weft/kernels/linear/linear_codes_convert_cuda.cuh"
#include "weft/kernels/linear/linear_codes_fetch_cuda.cuh"
#include "weft/kernels/linear/linear_codes_kinds_cuda.cuh"
#include "weft/kernels/linear/linear_codes_load_cuda.cuh"
#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"
#include "weft/kernels/linear/linear_codes_start_cuda.cuh"
#include "weft/kernels/linear/linear_codes_tile_cuda.cuh"

/// The kernel of kCodes for an encoding, and its launch.
namespace weft::cuda::codes {

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
          .prepare_fetched = prepare_fetched<Encoding>,
          .run_fetched = run_fetched<Encoding>,
          .columns = Encoding::kColumns};
}

}  // namespace weft::cuda::codes
