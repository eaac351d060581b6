#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/attention/kv_layer.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/rotary/rotary_spec.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The op between the QKV projection and attention: clip, norms of queries, keys and values,
/// rotary position embedding (Su et al., arXiv 2104.09864), and the write of keys and values to
/// the cache.
struct RotaryParams {
  Rows qkv = {};  ///< [T, (A + 2K) * D]: queries, keys, values of a token; changed in place
  HeadShape shape = {};
  RotarySpec spec = {};
  HeadNorm query_norm = {};
  HeadNorm key_norm = {};
  HeadNorm value_norm = {};  ///< values are not rotated, so norm_after_rotary does not matter
  /// cos and sin by position: [positions, R/2] each, float32, in the order of the pairs.
  const float* cosines = nullptr;
  const float* sines = nullptr;
  std::int64_t table_positions = 0;
  std::span<const std::int32_t> position_ids = {};  ///< [T]: each token's position
  std::span<const SequenceSpan> spans = {};         ///< cover the T tokens
  KvLayer kv = {};  ///< gets keys and values; keys null = nothing is written
};

/// Each token touches only its own rows, and the op allocates nothing. Keys and values are rounded
/// to the cache's type, to nearest even (kv_layer.h); a token's bytes do not depend on other
/// tokens.
void rotate_and_store(const RotaryParams& params, Share share);

}  // namespace weft

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
  const std::int32_t* position_ids = nullptr;  ///< [T] positions in the tables
  DeviceSpans spans{};
  DeviceKvLayer kv{};  ///< keys null = nothing is written
};

[[nodiscard]] Status rotate_and_store(const CudaRotaryParams& params, Stream stream);

}  // namespace weft::cuda
