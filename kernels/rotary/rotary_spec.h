#pragma once

#include <cstdint>

#include "weft/kernels/norm/norm_spec.h"

namespace weft {

/// Which two numbers among a head's rotary dimensions form a pair.
enum class RotaryStyle : std::uint8_t {
  kHalves,       ///< i and i + R/2 (GPT-NeoX, llama in Hugging Face layout)
  kInterleaved,  ///< 2i and 2i + 1 (GPT-J, llama in GGUF layout)
};

/// The numbers that a norm of queries, keys or values is taken over, and the shape of its weights.
enum class HeadNormScope : std::uint8_t {
  kPerHead,   ///< over a head; all heads share the weights, [D] (Qwen3)
  kEachHead,  ///< over a head; each has its own weights, [heads, D] (StableLM 2, Cohere)
  kAllHeads,  ///< one mean over heads * D numbers; weights are [heads, D] (OLMo 2)
};

/// The attributes of a norm of queries, keys or values.
struct HeadNormSpec {
  bool enabled = false;
  NormSpec norm = {};
  HeadNormScope scope = HeadNormScope::kPerHead;
  friend bool operator==(const HeadNormSpec&, const HeadNormSpec&) = default;
};

/// A norm of queries, keys or values with its learned numbers, in the computing device's memory.
struct HeadNorm {
  HeadNormSpec spec = {};
  const float* weight = nullptr;  ///< sized by the scope; null = 1 (weight_offset is unused)
  const float* bias = nullptr;    ///< like weight; null = 0
};

/// The heads of a token's row, queries first, then keys and values.
struct HeadShape {
  std::int32_t heads = 0;      ///< A
  std::int32_t kv_heads = 0;   ///< K; 0: queries alone (attention to the KV of another layer)
  std::int32_t head_size = 0;  ///< D
  friend bool operator==(const HeadShape&, const HeadShape&) = default;
};

/// The attributes of the op between the QKV projection and attention. The spec reader, the
/// program, the host and the devices share this struct.
struct RotarySpec {
  float clip = 0;                  ///< > 0: limits all numbers to [-clip, clip] (DBRX, MPT)
  bool norm_after_rotary = false;  ///< norms follow the rotation (Hunyuan) instead of preceding it
  RotaryStyle style = RotaryStyle::kHalves;
  std::int32_t rotary_size =
      0;  ///< R, even, at most D: the first R numbers of a head are rotated; 0 = none
  /// When the step is not 0, queries at position p are finally multiplied by
  /// 1 + query_growth * ln(1 + floor(p / query_growth_step)) (Ministral 3).
  float query_growth = 0;
  std::int32_t query_growth_step = 0;
  friend bool operator==(const RotarySpec&, const RotarySpec&) = default;
};

}  // namespace weft
