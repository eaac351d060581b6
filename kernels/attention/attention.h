#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/attention/attention_spec.h"
#include "weft/kernels/attention/kv_layer.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// softmax(q k^T * scale + bias) v over paged KV, for every sequence of the step (selective
/// batching: the one op that handles each sequence by itself; Orca, section 3.2).
struct AttentionParams {
  ConstRows queries = {};  ///< [T, >= A * D]: head a of a token at a * D
  std::int32_t heads = 0;  ///< A, a multiple of kv.kv_heads; head a reads KV head a / (A / K)
  KvLayer kv = {};
  std::span<const SequenceSpan> spans = {};
  AttentionSpec spec = {};
  /// [A] or null: slope * (key position - query position) is added (ALiBi, Press et al., arXiv
  /// 2108.12409).
  const float* alibi_slopes = nullptr;
  /// [A, buckets] or null: a learned number for each bucket of the distance is added (T5, Raffel et
  /// al., arXiv 1910.10683, section 2.1).
  const float* relative_bias = nullptr;
  /// [A] or null: a score of each head that enters the softmax's sum and has no value (gpt-oss).
  const float* sinks = nullptr;
  Rows out = {};  ///< [T, A * D]; does not overlap queries
};

/// Workspace bytes that one thread needs for any step.
[[nodiscard]] std::size_t attention_workspace_bytes(std::int32_t heads,
                                                    std::int32_t head_size) noexcept;

/// A token's result depends on its own query and context alone, bit for bit: not on the other rows,
/// how its prompt was cut into chunks, page_tokens, or the number of threads. (The running softmax
/// goes over the context in blocks that begin at fixed positions.) A token that sees no position
/// gets zeros. `workspace` belongs to the calling thread and is aligned to a cache line. The op
/// allocates nothing.
void attention(const AttentionParams& params, Share share, std::span<std::byte> workspace);

}  // namespace weft
