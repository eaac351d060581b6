#pragma once

#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/rotary/rotary.h"

namespace weft::cuda {

/// Clip, norms of queries and keys, rotary embedding and the write of keys and values to the cache,
/// as weft::RotaryParams with the same names; pointers are the device's. A row whose sequence_of is
/// -1 writes nothing to the cache.
struct RotaryParams {
  std::int64_t rows = 0;
  DeviceRows qkv{};  ///< f32 [T, (A + 2K) * D], changed in place
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_size = 0;
  float clip = 0;
  HeadNorm query_norm{};
  HeadNorm key_norm{};
  bool norm_after_rotary = false;
  RotaryStyle style = RotaryStyle::kHalves;
  std::int32_t rotary_size = 0;
  const float* cosines = nullptr;  ///< [positions, R/2]
  const float* sines = nullptr;
  const std::int32_t* position_ids = nullptr;  ///< [T], of the tables
  DeviceSpans spans{};
  DeviceKvLayer kv{};  ///< keys null = nothing is written
};

[[nodiscard]] Status rotate_and_store(const RotaryParams& params, Stream stream);

}  // namespace weft::cuda
