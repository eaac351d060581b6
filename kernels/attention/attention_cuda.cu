#include "weft/kernels/attention/attention_work_cuda.cuh"

namespace weft::cuda {
namespace {

bool has_tiles(const CudaAttentionParams& params) {
  if (params.kv.dtype == DType::kF32 || params.relative_bias != nullptr) return false;
  switch (params.kv.head_size) {
    case 64:
    case 80:
    case 96:
    case 128:
    case 256:
      return true;
    default:
      return false;
  }
}

}  // namespace

Status attention(const CudaAttentionParams& params, Stream stream) {
  if (params.max_items == 0) return Status::kSuccess;
  if (!has_tiles(params)) return attention_general(params, stream);
  return params.decodes ? attention_decode(params, stream) : attention_prefill(params, stream);
}

}  // namespace weft::cuda
