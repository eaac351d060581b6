#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "weft/kernels/cuda/launch_cuda.cuh"
#include "weft/kernels/linear/linear_codes_kinds_cuda.cuh"
#include "weft/kernels/linear/linear_codes_ring_cuda.cuh"

/// Products of up to kMaxCodesTokens tokens whose weights stay codes: blocks stream through shared
/// memory, and tensor cores multiply the decoded numbers. Up to kStreamedTokens tokens, a warp
/// multiplies 32 rows by one half of a unit's columns; linear_codes_tile_cuda.cuh has the kernel
/// for more tokens. linear_cut_cuda.cuh cuts the units of products with up to kMaxCutTokens tokens
/// among the multiprocessors.
namespace weft::cuda {
namespace codes {
namespace {

std::optional<CodesKind> kind_of(DType dtype) {
  const auto* found = std::ranges::find(kCodesRows, dtype, &CodesRow::dtype);
  if (found == kCodesRows.end()) return std::nullopt;
  return found->kind();
}

Status status_of_map(CUresult result) {
  return result == CUDA_SUCCESS ? Status::kSuccess : status_of(cudaErrorInvalidValue);
}

/// Returns one run of a matrix as a matrix of its own.
DeviceMatrix matrix_of_run(const DeviceMatrix& weight, int run) {
  if (weight.run_count == 1) return weight;
  DeviceMatrix part = weight;
  const bool last = run + 1 == weight.run_count;
  const std::int64_t first = weight.runs[run].first;
  part.outputs = (last ? weight.outputs : weight.runs[run + 1].first) - first;
  part.runs[0] = weight.runs[run];
  part.runs[0].first = 0;
  part.run_count = 1;
  return part;
}

DeviceRows from_column(DeviceRows rows, std::int64_t first) {
  if (rows.data == nullptr) return rows;
  rows.data = static_cast<std::byte*>(rows.data) + first * (rows.dtype == DType::kF32 ? 4 : 2);
  rows.width -= first;
  return rows;
}

bool fits_one(const DeviceMatrix& weight) {
  constexpr std::int64_t kMaxUnits = std::int64_t{1} << 24U;  // times processors this fits 32 bits
  const auto kind = kind_of(weight.runs[0].dtype);
  if (!kind || weight.inputs % kind->columns != 0) return false;
  // Bytes of a tile's counters of kCodesFetched.
  constexpr std::int64_t kCounterBytes = 2 * sizeof(unsigned);
  const std::int64_t tiles = tiles_of(weight);
  return tiles * kCounterBytes <= static_cast<std::int64_t>(kTileCounterBytes) &&
         weight.inputs / kind->columns <= kMaxUnits / tiles && weight.outputs < (1 << 30);
}

using Run = decltype(CodesKind::run);

/// Multiplies by each run of a matrix in turn, with the function of the run's encoding.
Status multiply_runs(const CudaLinearParams& params, const FlatDevice& device, Stream stream,
                     Run CodesKind::* run) {
  Status status = Status::kSuccess;
  for (int i = 0; i < params.weight.run_count && status == Status::kSuccess; ++i) {
    const auto kind = kind_of(params.weight.runs[i].dtype);
    if (!kind) return status_of(cudaErrorInvalidValue);
    CudaLinearParams part = params;
    part.weight = matrix_of_run(params.weight, i);
    const std::int64_t first = params.weight.runs[i].first;
    if (params.bias != nullptr) part.bias = params.bias + first;
    part.residual = from_column(params.residual, first);
    part.out = from_column(params.out, first);
    status = ((*kind).*run)(part, device, stream);
  }
  return status;
}

}  // namespace

std::int64_t tiles_of(const DeviceMatrix& weight) {
  const std::int64_t outputs = weight.gated ? kBoxRows : kTileRows;
  return (weight.outputs + outputs - 1) / outputs;
}

Status encode_blocks(TensorMapEncoder encoder, CUtensorMap& map, const DeviceMatrix& weight,
                     int box_bytes, int box_rows) {
  const EncodedRun& run = weight.runs[0];
  const std::int64_t rows = weight.gated ? 2 * weight.outputs : weight.outputs;
  const cuuint64_t sizes[] = {
      static_cast<cuuint64_t>(weight.inputs / run.block_elements * run.block_bytes),
      static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {sizes[0]};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(box_bytes), static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[] = {1, 1};
  return status_of_map(
      encoder(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<std::byte*>(run.data), sizes,
              strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
              CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

Status encode_inputs(TensorMapEncoder encoder, CUtensorMap& map, const CudaLinearParams& params,
                     std::int64_t tokens, int columns, bool swizzled) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(params.weight.inputs),
                              static_cast<cuuint64_t>(params.rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(params.in.stride) * 2};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(columns), static_cast<cuuint32_t>(tokens)};
  const cuuint32_t steps[] = {1, 1};
  return status_of_map(encoder(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, params.in.data, sizes,
                               strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                               CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

}  // namespace codes

Status prepare_codes() {
  Status status = Status::kSuccess;
  for (const codes::CodesRow& row : codes::kCodesRows) {
    if (status == Status::kSuccess) status = row.kind().prepare();
  }
  return status;
}

bool fits_codes(const DeviceMatrix& weight) {
  for (int i = 0; i < weight.run_count; ++i) {
    if (!codes::fits_one(codes::matrix_of_run(weight, i))) return false;
  }
  return weight.run_count > 0;
}

Status linear_codes(const CudaLinearParams& params, const FlatDevice& device, Stream stream) {
  return codes::multiply_runs(params, device, stream, &codes::CodesKind::run);
}

Status prepare_codes_fetched(const FlatDevice& device) {
  Status status = Status::kSuccess;
  for (const codes::CodesRow& row : codes::kCodesRows) {
    if (status == Status::kSuccess) status = row.kind().prepare_fetched(device.shared);
  }
  return status;
}

Status linear_codes_fetched(const CudaLinearParams& params, const FlatDevice& device,
                            Stream stream) {
  return codes::multiply_runs(params, device, stream, &codes::CodesKind::run_fetched);
}

}  // namespace weft::cuda
