#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/kernels/attention/attention_cuda.h"

/// The layout of attention's workspace, which the plan and the kernels share.
namespace weft::cuda {

/// The most queries of an item with several tokens, over all heads that share a KV head: the rows
/// of four warps' matrix tiles.
inline constexpr std::int32_t kItemQueries = 128;

/// Thread blocks of the kernels for 16-bit KV that a processor holds at a time; the plan's pieces
/// fill them.
inline constexpr std::int32_t kBlocksPerProcessor = 2;

/// Words of the work queue's counters; the items' counters follow.
inline constexpr std::int32_t kQueueWords = 32;

/// Returns the counters available to items, for a model with `heads` heads.
[[nodiscard]] constexpr std::int32_t attention_counters(std::int32_t heads) {
  return (static_cast<std::int32_t>(kAttentionCounterBytes / sizeof(std::uint32_t)) - kQueueWords) /
         heads;
}

/// Slots hold one token's part each: part p of an item's token t has slot first_slot + p * tokens +
/// t. After the counters come the sums of values, f32 [slots, A, D], then the greatest score and
/// the sum of weights, f32 [slots, A, 2].

}  // namespace weft::cuda
