#pragma once

#include <cstdint>
#include <span>

#include "weft/kernels/attention/kv_layer.h"
#include "weft/kernels/norm/norm.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// How the two numbers that are turned together are found among a head's rotary dimensions.
enum class RotaryStyle : std::uint8_t {
  kHalves,       ///< i and i + R/2 (GPT-NeoX, llama in Hugging Face layout)
  kInterleaved,  ///< 2i and 2i + 1 (GPT-J, llama in GGUF layout)
};

/// A norm over each head of the queries or keys, or over all heads together.
struct HeadNorm {
  bool enabled = false;
  NormKind kind = NormKind::kRms;
  const float* weight =
      nullptr;  ///< [D] (shared by the heads), [heads, D] when per_head_weight or over_all_heads
  const float* bias = nullptr;   ///< like weight
  bool per_head_weight = false;  ///< each head has its own weight
  bool over_all_heads = false;   ///< one mean over heads * D numbers (OLMo 2)
  float weight_offset = 0;
  float eps = 0;
};

/// What stands between the QKV projection and attention: clip, norms of queries and keys, rotary
/// position embedding (Su et al., arXiv 2104.09864), and the write of keys and values to the cache.
struct RotaryParams {
  Rows qkv = {};  ///< [T, (A + 2K) * D]: queries, keys, values of a token; changed in place
  std::int32_t heads = 0;      ///< A
  std::int32_t kv_heads = 0;   ///< K; 0 when only queries are there (attention to another's KV)
  std::int32_t head_size = 0;  ///< D
  float clip = 0;              ///< queries, keys and values to [-clip, clip] when > 0 (DBRX, MPT)
  HeadNorm query_norm = {};
  HeadNorm key_norm = {};
  bool norm_after_rotary = false;  ///< Hunyuan; otherwise before
  RotaryStyle style = RotaryStyle::kHalves;
  std::int32_t rotary_size =
      0;  ///< R, even, at most D: the first R numbers of a head turn; 0 = none
  /// cos and sin by position: [positions, R/2] each, float32, in the order of the pairs.
  const float* cosines = nullptr;
  const float* sines = nullptr;
  std::int64_t table_positions = 0;
  std::span<const std::int32_t> position_ids = {};  ///< [T]: each token's position
  std::span<const SequenceSpan> spans = {};         ///< cover the T tokens
  KvLayer kv = {};  ///< where keys and values go; keys null = nothing is written
};

/// Touches only its own tokens; nothing is allocated. Keys are rounded to the cache's type to
/// nearest even.
void rotate_and_store(const RotaryParams& params, Share share);

}  // namespace weft
