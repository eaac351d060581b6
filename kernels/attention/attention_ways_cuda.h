#pragma once

#include <cstdint>

#include "weft/kernels/attention/attention_cuda.h"

/// Which kernel computes attention on a GPU, and whether it rotates as well.
namespace weft::cuda {

/// Whether the kernels on tensor cores can compute this attention. They take heads of some sizes,
/// and keys and values of 16 bits or codes.
[[nodiscard]] constexpr bool has_tiles(const CudaAttentionParams& params) noexcept {
  if (params.kv.dtype == DType::kF32 || params.relative_bias != nullptr) return false;
  switch (params.kv.head_size) {
    case 64:
    case 80:
    case 96:
    case 128:
    case 256:
      return true;
    default:
      return false;
  }
}

/// Query heads of one KV head that the decoding kernel takes together.
inline constexpr std::int32_t kDecodedHeads = 16;

/// The most pieces of work (a KV head of a token each) for which rotating inside attention's launch
/// is faster than in a separate launch. This many blocks run at a time. A block with several pieces
/// waits for the rotation of each in turn.
inline constexpr std::int64_t kMostRotatedPieces = 256;

/// Whether attention() can do the preceding `rotary` in its own launch
/// (CudaAttentionParams::rotary). It can if each sequence has one token, the query heads of a KV
/// head fit one tile, and no norm spans several heads.
[[nodiscard]] constexpr bool rotates_inside(const CudaRotaryParams& rotary,
                                            const CudaAttentionParams& attention) noexcept {
  const auto over_all = [](const HeadNorm& norm) {
    return norm.spec.enabled && norm.spec.scope == HeadNormScope::kAllHeads;
  };
  const DeviceKvLayer& kv = attention.kv;
  if (!attention.decodes || !attention.spec.causal || !has_tiles(attention)) return false;
  if (rotary.qkv.data != attention.queries.data || rotary.rows != attention.rows) return false;
  if (rotary.shape.heads != attention.heads || rotary.shape.head_size != kv.head_size) return false;
  if (rotary.kv.keys != nullptr &&
      (rotary.kv.keys != kv.keys || rotary.shape.kv_heads != kv.kv_heads)) {
    return false;
  }
  if (over_all(rotary.query_norm) || over_all(rotary.key_norm) || over_all(rotary.value_norm)) {
    return false;
  }
  return attention.heads <= std::int64_t{kDecodedHeads} * kv.kv_heads &&
         attention.rows * kv.kv_heads <= kMostRotatedPieces;
}

}  // namespace weft::cuda
