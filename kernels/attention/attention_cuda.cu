#include "weft/kernels/attention/attention_ways_cuda.h"
#include "weft/kernels/attention/attention_work_cuda.cuh"

namespace weft::cuda {
Status attention(const CudaAttentionParams& params, Stream stream) {
  if (params.max_items == 0) return Status::kSuccess;
  if (params.rotary.qkv.data != nullptr && !rotates_inside(params.rotary, params)) {
    return status_of(cudaErrorInvalidValue);
  }
  if (!has_tiles(params)) return attention_general(params, stream);
  return params.decodes ? attention_decode(params, stream) : attention_prefill(params, stream);
}

}  // namespace weft::cuda
