#pragma once

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/rotary/rotary_spec.h"

namespace weft::cuda {

/// Clip, norms of queries, keys and values, rotary embedding and the write of keys and values to
/// the cache, as weft::RotaryParams with the same names; pointers are the device's. A row whose
/// sequence_of is -1 writes nothing to the cache.
struct CudaRotaryParams {
  std::int64_t rows = 0;
  DeviceRows qkv{};  ///< f32 [T, (A + 2K) * D], changed in place
  HeadShape shape{};
  RotarySpec spec{};
  HeadNorm query_norm{};
  HeadNorm key_norm{};
  HeadNorm value_norm{};
  const float* cosines = nullptr;  ///< [positions, R/2]
  const float* sines = nullptr;
  const std::int32_t* position_ids = nullptr;  ///< [T], of the tables
  DeviceSpans spans{};
  DeviceKvLayer kv{};  ///< keys null = nothing is written
};

[[nodiscard]] Status rotate_and_store(const CudaRotaryParams& params, Stream stream);

}  // namespace weft::cuda
