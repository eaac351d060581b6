#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/linear/linear.h"
#include "weft/kernels/share.h"

namespace weft {

/// A micro-kernel's work: sums[r][o] = (first ? 0 : sums[r][o]) + sum over `words` of
/// rows[word][r] * panels[word][o], in the order of the words.
struct LinearTile {
  const std::uint32_t* rows = nullptr;  ///< [words, R]: f32, or pairs of bf16
  const std::byte* panels = nullptr;    ///< [words, 16] each: f32, or pairs of bf16
  std::int64_t panel_stride = 0;        ///< bytes from one panel to the next
  std::int64_t words = 0;
  float* sums = nullptr;  ///< rows are LinearPlan::kGroupOutputs floats apart, panels 16
  bool first = false;
  /// Whether to prefetch memory from `ahead` on: `ahead_step` bytes of each panel with every word.
  /// Only the first tile of a block of the weight does.
  bool fetches = false;
  const std::byte* ahead = nullptr;  ///< panels are `ahead_stride` bytes apart
  std::int64_t ahead_stride = 0;
  std::int64_t ahead_step = 0;
};

/// linear() on the current SIMD target, with parameters already checked.
void linear_on_cpu(const LinearParams& params, Share share, std::span<std::byte> workspace);

}  // namespace weft
