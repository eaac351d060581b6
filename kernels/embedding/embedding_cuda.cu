#include "weft/kernels/cuda/row_cuda.cuh"
#include "weft/kernels/embedding/embedding.h"
#include "weft/kernels/encoding/decode_cuda.cuh"

namespace weft::cuda {
namespace {

/// Loads numbers [first, first + 4) of a token's row, and reads nothing beyond its width.
__device__ Four table_row(const CudaEmbeddingParams& params, TokenId token, std::int64_t first) {
  const std::int64_t width = params.out.width;
  const std::int64_t id = token - params.first_row;
  Four four{};
  if (params.table == nullptr || id < 0 || id >= params.table_rows) return four;
  const std::int64_t table_width = params.table_width > 0 ? params.table_width : width;
  const std::int64_t begin = id * table_width + params.first_column;
  if (params.block.elements > 1) {
    const std::int64_t block = (begin + first) / params.block.elements;
    const auto in_block = static_cast<int>(first % params.block.elements);
    const auto* at = reinterpret_cast<const std::uint8_t*>(params.table);
    const decoding::Eight eight =
        decode_eight(params.dtype, at + block * params.block.bytes, in_block / 8 * 8);
#pragma unroll
    for (int i = 0; i < 4; ++i) four.at[i] = eight.at[in_block % 8 + i];
    return four;
  }
  if ((width | table_width | params.first_column) % 4 == 0) {
    return load_four(params.dtype, params.table, begin + first);
  }
  for (int i = 0; i < 4 && first + i < width; ++i) {
    four.at[i] = load_one(params.dtype, params.table, begin + first + i);
  }
  return four;
}

__global__ void __launch_bounds__(kRowThreads) embed_kernel(CudaEmbeddingParams params) {
  let_successor_start();
  wait_for_predecessor();
  const std::int64_t width = params.out.width;
  const auto [row, first] = row_place();
  if (first >= width) return;
  Four value = table_row(params, params.ids[row], first);
  Four position{};
  Four constant{};
  if (params.positions != nullptr) {
    const std::int64_t index = max(params.position_ids[row], 0) + params.spec.position_offset;
    position = load_floats(params.positions + index * width, first, width - first);
  }
  if (params.constant != nullptr) {
    const std::int64_t which = params.constant_ids == nullptr ? 0 : params.constant_ids[row];
    constant = load_floats(params.constant + which * width, first, width - first);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    value.at[i] = value.at[i] * params.spec.scale + position.at[i] + constant.at[i];
  }
  store_four(DType::kF32, writable_row(params.out, row), first, value, width - first);
}

}  // namespace

Status embed(const CudaEmbeddingParams& params, Stream stream) {
  return launch_rows(embed_kernel, params.rows, params.out.width, stream, params);
}

}  // namespace weft::cuda
