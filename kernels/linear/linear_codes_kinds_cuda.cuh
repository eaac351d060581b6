#pragma once

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "weft/core/encodings.h"
#include "weft/kernels/linear/linear_ways_cuda.cuh"

/// The encodings of kCodes and kCodesFetched. Each has its kernels in a source of its own, since
/// compiling them takes long.
namespace weft::cuda::codes {

constexpr std::int64_t kStreamedTokens = kMaxStreamedTokens;
constexpr std::int64_t kNormedTokens = kMaxNormedCodesTokens;

struct CodesKind {
  Status (*prepare)();
  /// Multiplies a matrix of one run.
  Status (*run)(const CudaLinearParams& params, const FlatDevice& device, Stream stream);
  Status (*prepare_fetched)(const SharedLimits& limits);
  /// As run(), for kCodesFetched.
  Status (*run_fetched)(const CudaLinearParams& params, const FlatDevice& device, Stream stream);
  std::int64_t columns;  ///< columns of a unit
};

[[nodiscard]] CodesKind q4_k();
[[nodiscard]] CodesKind q6_k();
[[nodiscard]] CodesKind q8_0();
[[nodiscard]] CodesKind f8();
[[nodiscard]] CodesKind i4_64();
[[nodiscard]] CodesKind i4_128();
[[nodiscard]] CodesKind i4_256();

struct CodesRow {
  DType dtype;
  CodesKind (*kind)();
};

/// The kernels of each encoding whose row has TensorCodes.
inline constexpr std::array kCodesRows = {
    CodesRow{DType::kQ4_K, q4_k},     CodesRow{DType::kQ6_K, q6_k},
    CodesRow{DType::kQ8_0, q8_0},     CodesRow{DType::kF8_128, f8},
    CodesRow{DType::kF8_256, f8},     CodesRow{DType::kI4_64, i4_64},
    CodesRow{DType::kI4_128, i4_128}, CodesRow{DType::kI4_256, i4_256},
};
static_assert(std::ranges::all_of(kEncodings,
                                  [](const Encoding& encoding) {
                                    return (encoding.tensor_codes != TensorCodes::kNone) ==
                                           (std::ranges::count(kCodesRows, encoding.dtype,
                                                               &CodesRow::dtype) == 1);
                                  }),
              "an encoding of TensorCodes without kernels, or kernels of another encoding");

/// Returns the number of tiles of 128 rows of weights.
[[nodiscard]] std::int64_t tiles_of(const DeviceMatrix& weight);

/// Describes the rows of a matrix of blocks, as bytes, in boxes of a number of rows and bytes.
[[nodiscard]] Status encode_blocks(TensorMapEncoder encoder, CUtensorMap& map,
                                   const DeviceMatrix& weight, int box_bytes, int box_rows);

/// Describes the input's rows, in boxes of `tokens` rows and `columns` columns.
[[nodiscard]] Status encode_inputs(TensorMapEncoder encoder, CUtensorMap& map,
                                   const CudaLinearParams& params, std::int64_t tokens, int columns,
                                   bool swizzled);

}  // namespace weft::cuda::codes
