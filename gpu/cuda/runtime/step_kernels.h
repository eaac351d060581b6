#pragma once

#include <cstdint>

#include "weft/kernels/cuda/cuda_types.h"

/// The small kernels around a step's ops.
namespace weft::cuda {

/// Converts rows, and gathers them if `rows_of` is given: out[i] = in[rows_of[i]].
struct CudaConvertParams {
  std::int64_t rows = 0;
  DeviceRows in{};
  /// [rows] in the device's memory; null: row i comes from row i.
  const std::int32_t* rows_of = nullptr;
  DeviceRows out{};
};

/// Raises a flag: *flag = *value, once the host can see everything that the stream did before.
struct CudaSignalParams {
  const std::uint64_t* value = nullptr;  ///< in the device's memory
  std::uint64_t* flag = nullptr;         ///< in host memory that the device writes
};

[[nodiscard]] Status convert(const CudaConvertParams& params, Stream stream);
[[nodiscard]] Status signal(const CudaSignalParams& params, Stream stream);

}  // namespace weft::cuda
