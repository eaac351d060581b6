#pragma once

#include <cstdint>
#include <optional>

#include "weft/kernels/attention/attention.h"

namespace weft {

/// Positions of a block. The context is processed in blocks that begin at multiples of this number,
/// so the order of a query's sums does not depend on where its prompt was cut. One block of keys
/// and values of 128 numbers in float32 takes a sixteenth of a core's second-level cache.
inline constexpr std::int32_t kKeyBlock = 64;

/// Queries of a work item, over all heads that share a KV head: enough to make the widening of a
/// block a few percent of the work, few enough to balance threads. Where a KV head has more heads
/// than this, an item has one token.
inline constexpr std::int32_t kQueryBlock = 64;

/// Positions [begin, end) of a context.
struct KeyRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;

  [[nodiscard]] bool empty() const noexcept { return begin >= end; }
};

/// The positions that the token at `position` of the span's context sees.
[[nodiscard]] KeyRange visible_keys(const AttentionParams& params, const SequenceSpan& span,
                                    std::int32_t position) noexcept;

/// Tokens of a span, and the KV head that their queries use: one thread's work at a time.
struct AttentionItem {
  const SequenceSpan* span = nullptr;
  std::int32_t kv_head = 0;
  std::int32_t first_token = 0;
  std::int32_t tokens = 0;
};

/// The items of one thread. Among all items in the order (sequence, KV head, tokens), a thread has
/// the items whose middle is in its part of the total cost. Every thread computes the same numbers,
/// so nothing is exchanged or allocated.
class AttentionPlan {
 public:
  AttentionPlan(const AttentionParams& params, Share share);

  [[nodiscard]] std::optional<AttentionItem> next();

 private:
  [[nodiscard]] std::int64_t item_cost(const SequenceSpan& span, std::int32_t first_token,
                                       std::int32_t tokens) const noexcept;
  [[nodiscard]] std::int64_t head_cost(const SequenceSpan& span) const noexcept;
  [[nodiscard]] std::int32_t tokens_at(const SequenceSpan& span, std::int32_t token) const noexcept;
  void pass(std::int32_t tokens, std::int64_t cost) noexcept;
  bool skip_foreign_spans() noexcept;

  const AttentionParams& params_;
  std::int32_t group_;        // queries of a KV head
  std::int32_t item_tokens_;  // tokens of an item, except at the end of a span
  std::int64_t begin_ = 0;    // this thread's part of the cost
  std::int64_t end_ = 0;
  std::int64_t passed_ = 0;  // cost of the items before the next item, which is:
  std::size_t span_ = 0;
  std::int32_t head_ = 0;
  std::int32_t token_ = 0;
};

}  // namespace weft
