#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"

namespace weft {

/// One layer's part of the paged KV cache: `pages` pages of `page_tokens` tokens. Borrowed.
/// A page holds [K, page_tokens, D] keys, and as many values in `values`.
struct KvLayer {
  DType dtype = DType::kF32;  ///< f32, f16 or bf16
  std::byte* keys = nullptr;  ///< [P, K, page_tokens, D], aligned to a cache line
  std::byte* values = nullptr;
  std::int32_t pages = 0;
  std::int32_t page_tokens = 1;
  std::int32_t kv_heads = 0;   ///< K
  std::int32_t head_size = 0;  ///< D
};

/// The tokens of one sequence in a step, and where its KV is. Token i of the span (0 <= i < count)
/// is row first + i of the step's buffers and position start + i of the sequence's context; the
/// context's token c is at offset c % page_tokens of page pages[c / page_tokens].
struct SequenceSpan {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t start = 0;
  std::span<const std::int32_t> pages = {};  ///< enough for start + count tokens
  /// Context tokens of attention that is not causal (an encoder's, or an encoder's output seen from
  /// the decoder); 0 where it is causal.
  std::int32_t context = 0;
};

}  // namespace weft
