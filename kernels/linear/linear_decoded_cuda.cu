#include <algorithm>
#include <cstdint>

#include "weft/kernels/linear/linear_ways_cuda.cuh"

/// Many tokens, encoded weights: decodes once for all tokens, then the library multiplies.
namespace weft::cuda {

Status linear_decoded(const CudaLinearParams& params, LinearLibrary& library, Stream stream) {
  const DeviceMatrix& whole = params.weight;
  DeviceMatrix piece = decoded_piece(whole);
  piece.data = params.decoded;
  const std::int64_t step = piece.outputs;
  Status status = Status::kSuccess;
  for (std::int64_t first = 0; first < whole.outputs && status == Status::kSuccess; first += step) {
    piece.outputs = std::min(step, whole.outputs - first);
    CudaLinearParams part = params;
    part.weight = piece;
    if (params.bias != nullptr) part.bias = params.bias + first;
    part.residual = columns_of(params.residual, first, piece.outputs);
    part.out = columns_of(params.out, first, piece.outputs);
    status = decode_matrix({whole, first, piece}, stream);
    if (status == Status::kSuccess) status = library.run(part, stream);
  }
  return status;
}

}  // namespace weft::cuda
