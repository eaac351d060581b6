#pragma once

#include <cstdint>

#include "weft/kernels/cuda/cuda_types.h"

/// The small kernels around a step's ops.
namespace weft::cuda {

/// Rows are converted, and gathered where `rows_of` is given: out[i] = in[rows_of[i]].
struct CudaConvertParams {
  std::int64_t rows = 0;
  DeviceRows in{};
  const std::int32_t* rows_of = nullptr;  ///< [rows] in the device's memory, or null: the same
  DeviceRows out{};
};

/// Raises a flag: *flag = *value, after all that the stream did before can be seen by the host.
struct CudaSignalParams {
  const std::uint64_t* value = nullptr;  ///< in the device's memory
  std::uint64_t* flag = nullptr;         ///< in memory of the host that the device writes
};

[[nodiscard]] Status convert(const CudaConvertParams& params, Stream stream);
[[nodiscard]] Status signal(const CudaSignalParams& params, Stream stream);

}  // namespace weft::cuda
