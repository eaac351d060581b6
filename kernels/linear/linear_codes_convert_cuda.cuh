#pragma once

#include "weft/kernels/cuda/hopper_cuda.cuh"
#include "weft/kernels/linear/linear_codes_halves_cuda.cuh"
#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"

/// The warp of kCodes that converts few tokens to f16.
namespace weft::cuda::codes {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// Converts kCount tokens of a unit in place. The scales follow the last token.
template <class Sizes, int kCount>
__device__ void convert(std::byte* inputs, int first) {
  static_assert(Sizes::kExact && Sizes::Encoding::kColumns == 32 * kHalvesOfLane);
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::byte* const rows = inputs + first * Sizes::kBoxBytes;
  auto* const scales = reinterpret_cast<float*>(inputs + Sizes::kTokens * Sizes::kBoxBytes) + first;
  const Halves<kCount> made(rows, Sizes::kBoxBytes);
  __syncwarp();  // all lanes have read their numbers
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int piece = piece_of<Sizes>(lane / 2, first + i);
    *reinterpret_cast<uint2*>(rows + i * Sizes::kBoxBytes + piece * 16 + lane % 2 * 8) =
        made.made[i];
    if (lane == 0) scales[i] = made.scales[i];
  }
}

template <class Sizes>
__device__ void convert_tokens(const Shared<Sizes>& shared, const CodesProduct& product) {
  constexpr int kTogether = 4;
  const unsigned count = first_of(product.cut, blockIdx.x + 1) - first_of(product.cut, blockIdx.x);
  unsigned slot = 0;
  unsigned parity = 0;
  for (unsigned unit = 0; unit < count; ++unit) {
    wait(&shared.rows_full[slot], parity);
    int token = 0;
    for (; token + kTogether <= product.tokens; token += kTogether) {
      convert<Sizes, kTogether>(shared.inputs(slot), token);
    }
    for (; token < product.tokens; ++token) convert<Sizes, 1>(shared.inputs(slot), token);
    publish_to_products();  // before a copy overwrites the converted numbers
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(&shared.ready[slot]);
    if (++slot == Sizes::kDepth) {
      slot = 0;
      parity ^= 1U;
    }
  }
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

}  // namespace weft::cuda::codes
