#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/attention/attention_spec.h"
#include "weft/kernels/rotary/rotary_spec.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// A sequence among packed rows: rows [first, first + count), at positions 0 .. count - 1.
struct PackedSpan {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Attention over sequences packed in one table of rows, for training. Each sequence is complete,
/// and no sequence sees another. The formula is that of attention.h without ALiBi, relative biases
/// and sinks.
struct PackedAttentionParams {
  ConstRows qkv = {};  ///< [T, (A + 2K) * D], rotated: queries, keys, values of a token
  HeadShape shape = {};
  AttentionSpec spec = {};
  std::span<const PackedSpan> spans = {};
};

/// Workspace bytes that one thread needs for sequences of up to `longest` tokens.
[[nodiscard]] std::size_t packed_attention_workspace_bytes(std::int64_t longest) noexcept;

/// Writes out [T, A * D]. Numbers do not depend on the number of threads. Allocates nothing.
void packed_attention(const PackedAttentionParams& params, const Rows& out, Share share,
                      std::span<std::byte> workspace);

/// Adds the gradient by queries, keys and values to qkv_gradient [T, (A + 2K) * D]. Probabilities
/// are computed again, some queries of one head at a time, so none are kept (Dao et al., arXiv
/// 2205.14135, section 3.1). `workspace` and threads as packed_attention().
void packed_attention_gradient(const PackedAttentionParams& params, const ConstRows& out_gradient,
                               const Rows& qkv_gradient, Share share,
                               std::span<std::byte> workspace);

}  // namespace weft
