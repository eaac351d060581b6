#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/core/dtype.h"

namespace weft {

/// One layer's part of the paged KV cache: `pages` pages of `page_tokens` tokens. Borrowed.
/// A page holds [K, page_tokens] rows of keys, and as many of values in `values`. A row is the D
/// numbers of one token and KV head, in kv_row_bytes(dtype, D) bytes:
/// - f32, f16, bf16: the numbers.
/// - i8, f8_e4m3: a scale in f32, then D codes; a number is its code times the scale. The scale is
///   the row's greatest absolute number / 127 (i8) or / 448 (f8_e4m3), so that the greatest number
///   gets the greatest code, and a code is the nearest to number / scale, ties to even.
///
/// The scale is an f32, since f16 ends at 65504 and loses digits below 6e-5, and some models have
/// keys and values there. The two extra bytes are 1.5 % of a row of 128.
struct KvLayer {
  DType dtype = DType::kF32;  ///< one of kKvDTypes
  std::byte* keys = nullptr;  ///< [P, K, page_tokens] rows, aligned to a cache line
  std::byte* values = nullptr;
  std::int32_t pages = 0;
  std::int32_t page_tokens = 1;
  std::int32_t kv_heads = 0;   ///< K
  std::int32_t head_size = 0;  ///< D
};

/// The tokens of one sequence in a step, and where its KV lies. Token i of the span
/// (0 <= i < count) is row first + i of the step's buffers and position start + i of the context.
/// Position c of the context is at offset c % page_tokens of page pages[c / page_tokens].
struct SequenceSpan {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t start = 0;
  std::span<const std::int32_t> pages = {};  ///< enough for start + count tokens
  /// The context's tokens where attention is not causal (an encoder's, or the decoder's over an
  /// encoder's output); 0 where it is causal.
  std::int32_t context = 0;
};

}  // namespace weft
