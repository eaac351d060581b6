#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/linear_codes_kinds_cuda.cuh"
#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"

/// Types and functions that all launches of the kernels of kCodes use.
namespace weft::cuda::codes {

/// The most tokens of a tile that is cut. With more tokens, adding up the parts of the sums takes
/// longer than computing them.
constexpr std::int64_t kMaxCutTokens = kMaxFlatTokens;

using CodesKernel = void (*)(CUtensorMap weights, CUtensorMap inputs, CodesProduct product,
                             LinearEpilogue epilogue);

/// Starts as many blocks of a kernel as run at once, `blocks` on a multiprocessor. With more tokens
/// than a tile has, it starts a block for each tile.
template <class Sizes>
Status start_kernel(CodesKernel kernel, int threads, int blocks, const CudaLinearParams& params,
                    const FlatDevice& device, Stream stream) {
  using Encoding = typename Sizes::Encoding;
  const DeviceMatrix& weight = params.weight;
  CUtensorMap weights{};
  CUtensorMap inputs;
  Status status = Status::kSuccess;
  if constexpr (!Encoding::kBoxed) {
    status = encode_blocks(device.encoder, weights, weight, Encoding::kRowBytes, kBoxRows);
  }
  if (status != Status::kSuccess) return status;
  status = encode_inputs(device.encoder, inputs, params, Sizes::kTokens, Sizes::kBoxColumns,
                         Sizes::kSwizzled);
  if (status != Status::kSuccess) return status;
  const std::int64_t columns = weight.inputs / Encoding::kColumns;
  const std::int64_t token_tiles = (params.rows + Sizes::kTokens - 1) / Sizes::kTokens;
  const auto tiles = static_cast<unsigned>(tiles_of(weight) * token_tiles);
  const CodesProduct product{
      .cut = {.units = tiles * static_cast<unsigned>(columns),
              .tile_units = static_cast<unsigned>(columns)},
      .tokens = static_cast<int>(params.rows),
      .outputs = static_cast<int>(weight.outputs),
      .gated = weight.gated,
      .boxes = weight.runs[0].data,
      .meeting = {reinterpret_cast<unsigned*>(params.workspace),
                  reinterpret_cast<float4*>(params.workspace + kLinearCounterBytes)},
      .token_tiles = static_cast<unsigned>(token_tiles),
      .whole = params.rows > kMaxCutTokens};
  const auto most = static_cast<unsigned>(device.processors * blocks);
  const unsigned grid = product.whole ? tiles : std::min(product.cut.units, most);
  return launch(kernel, dim3(grid), dim3(static_cast<unsigned>(threads)), Sizes::kBytes, stream,
                weights, inputs, product, LinearEpilogue(params));
}

}  // namespace weft::cuda::codes
