#pragma once

#include <cstdint>

namespace weft {

/// The attributes of an attention op: how scores are made and which positions a token sees. The
/// spec reader, the program, the host and the devices share this struct.
struct AttentionSpec {
  bool causal = true;  ///< token at position p sees the context 0 .. p; otherwise 0 .. context-1
  float scale = 1;
  float soft_cap = 0;  ///< c * tanh(score / c) after the scale when c > 0 (Gemma 2)
  /// When > 0, a token sees only the last `window` positions, its own included; without `causal`
  /// it sees as many after itself as well.
  std::int32_t window = 0;
  /// > 0: a token sees only its own chunk of this many positions (Llama 4).
  std::int32_t chunk = 0;
  /// How a learned relative bias finds its bucket (relative_bias.h); unused without a relative
  /// bias.
  std::int32_t relative_buckets = 0;
  std::int32_t relative_max_distance = 0;
  bool relative_bidirectional = false;
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

}  // namespace weft
