#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/kernels/attention/attention_spec.h"
#include "weft/kernels/cuda/cuda_types.h"
#include "weft/kernels/rotary/rotary.h"

namespace weft::cuda {

/// A piece of a step's attention, for every KV head: tokens [token, token + tokens) of a sequence
/// over positions [begin, end) of its context. Pieces of the same tokens are parts 0 .. parts - 1;
/// the thread block that finishes last adds up the parts' sums.
struct CudaAttentionItem {
  std::int32_t sequence = 0;
  std::int32_t token = 0;  ///< index among the sequence's tokens of this step
  std::int32_t tokens = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int32_t part = 0;
  std::int32_t parts = 1;
  std::int32_t first_slot = 0;  ///< part 0's slot of partial results in the workspace; parts > 1
  std::int32_t counter = 0;     ///< index of the counter of finished parts; parts > 1
};

/// The sizes that a plan of items is made for.
struct AttentionShape {
  std::int32_t processors = 0;  ///< the device's multiprocessors
  std::int32_t heads = 0;       ///< A, the most of any layer
  std::int32_t kv_heads = 0;    ///< K of that layer
  std::int32_t head_size = 0;
  std::int32_t page_tokens = 1;
  bool causal = true;
  std::int32_t max_items = 0;
};

/// Cuts a step's attention into items of similar cost, longest first; plain host code, run once a
/// step. `sequences` are as the device will read them. Writes `items`, which has room for
/// shape.max_items (then nothing is allocated). The context of a decoding sequence is cut so that
/// the device is full whatever the lengths are (Flash-Decoding). A prompt's chunk is cut along its
/// tokens, and along its context where the tokens alone leave the device partly idle. Where a
/// context is cut depends on the other sequences, and so do the last bits of a result.
void plan_attention(std::span<const DeviceSequence> sequences, const AttentionShape& shape,
                    std::vector<CudaAttentionItem>& items);

/// Most items that plan_attention() makes for `rows` sequences of together `tokens` tokens.
[[nodiscard]] std::int32_t max_attention_items(std::int32_t rows, std::int32_t tokens,
                                               const AttentionShape& shape);

/// softmax(q k^T * scale + bias) v over paged KV, as weft::AttentionParams, with the same names. If
/// all items have one token, the kernel reads spans, items and the KV of positions before a
/// sequence's `start` while preceding kernels may still run. An upload or an earlier step wrote
/// this memory, so it was complete before those kernels began.
struct CudaAttentionParams {
  std::int64_t rows = 0;  ///< T; rows that no item covers get no result
  DeviceRows queries{};   ///< f32 [T, >= A * D]
  /// The rotation that attention() does itself, when `qkv` has data and rotates_inside()
  /// (attention_ways_cuda.h). `queries` are then the rows of `qkv` before rotation. Keys and values
  /// go to `kv`; the op may change `qkv`.
  CudaRotaryParams rotary{};
  std::int32_t heads = 0;
  DeviceKvLayer kv{};
  DeviceSpans spans{};
  const CudaAttentionItem* items = nullptr;  ///< in the device's memory
  const std::int32_t* item_count = nullptr;  ///< in the device's memory
  std::int32_t max_items = 0;  ///< bound of *item_count, which sizes the grid; a replay keeps it
  /// Whether each item has one token: the decoding kernel runs then.
  bool decodes = false;
  AttentionSpec spec{};
  const float* alibi_slopes = nullptr;   ///< [A]
  const float* relative_bias = nullptr;  ///< [A, buckets]
  const float* sinks = nullptr;          ///< [A]
  DeviceRows out{};                      ///< f32, f16 or bf16 [T, A * D]
  /// Unified-max softmax (FlashDecoding++, arXiv 2311.01282, section 3): decoding scales every
  /// score's exponential by e^-phi instead of by the running maximum. When the exponentials' sum of
  /// a token's head leaves e^-kUnifiedRange .. e^kUnifiedRange, the kernel computes that head again
  /// with the maximum. For bf16 KV only: f16 weights lack the range and always use the maximum.
  bool unified = false;
  float phi = 0;
  std::uint32_t* recomputed = nullptr;  ///< counts heads computed again, or null
  /// Partial results and counters, cuda_attention_workspace_bytes(). The first
  /// kAttentionCounterBytes are zero before the first call and are left so.
  std::byte* workspace = nullptr;
};

/// An exponential is at most the sum, so it is at most e^60 = 1e26 in this range: float32 and bf16
/// hold it, also times values up to 1e12. Exponentials that underflow in float32 are below e^-87,
/// so each of up to a million positions loses less than e^-27 of a sum above e^-60.
inline constexpr float kUnifiedRange = 60;
inline constexpr std::size_t kAttentionCounterBytes = std::size_t{1} << 20U;

[[nodiscard]] std::size_t cuda_attention_workspace_bytes(std::int32_t max_items, std::int32_t heads,
                                                         std::int32_t head_size);

[[nodiscard]] Status attention(const CudaAttentionParams& params, Stream stream);

}  // namespace weft::cuda
