#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/sample/sample_cuda.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::uint32_t kSeen = 0x80000000U;

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

/// Adds atomically, so that threads may count the same token at once.
__device__ void count_token(const TokenCounts& counts, std::int64_t slot, TokenId token,
                            bool is_output) {
  std::uint32_t* count = counts.counts + slot * counts.vocabulary + token;
  atomicOr(count, kSeen);
  if (is_output) atomicAdd(count, 1U);
}

__global__ void __launch_bounds__(kThreads) resolve_kernel(CudaResolveParams params) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t row = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= params.rows) return;
  const std::int32_t slot = params.slot_of[row];
  TokenId token = kNoToken;
  if (slot >= 0) {
    const TokenId wanted = params.wanted[row];
    token = wanted >= 0 ? wanted : params.last_tokens[-1 - std::int64_t{wanted}];
  }
  params.ids[row] = token < 0 ? 0 : token;
  const bool counts = params.counts.counts != nullptr;
  if (counts && token >= 0 && params.settings[slot].counts) {
    count_token(params.counts, slot, token, params.is_output[row] != 0);
  }
}

__global__ void __launch_bounds__(kThreads) clear_kernel(CudaCountParams params) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t token = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t vocabulary = params.counts.vocabulary;
  if (token < vocabulary) params.counts.counts[params.slot * vocabulary + token] = 0;
}

__global__ void __launch_bounds__(kThreads) count_kernel(CudaCountParams params) {
  let_successor_start();
  wait_for_predecessor();
  const auto at = static_cast<std::int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (at >= params.token_count) return;
  count_token(params.counts, params.slot, params.tokens[at], at >= params.prompt_tokens);
}

}  // namespace

Status resolve_tokens(const CudaResolveParams& params, Stream stream) {
  if (params.rows == 0) return Status::kSuccess;
  return launch(resolve_kernel, dim3(blocks_for(params.rows)), dim3(kThreads), 0, stream, params);
}

Status start_counts(const CudaCountParams& params, Stream stream) {
  const Status status = launch(clear_kernel, dim3(blocks_for(params.counts.vocabulary)),
                               dim3(kThreads), 0, stream, params);
  if (status != Status::kSuccess || params.token_count == 0) return status;
  return launch(count_kernel, dim3(blocks_for(params.token_count)), dim3(kThreads), 0, stream,
                params);
}

}  // namespace weft::cuda
