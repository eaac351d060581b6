#pragma once

#include <cstdint>
#include <span>

#include "weft/core/token.h"
#include "weft/gpu/sequence_traits.h"
#include "weft/sampling/part_summary.h"

namespace weft {

/// One sequence's tokens in a step: rows first .. first + count - 1 of the step, at positions start
/// .. start + count - 1 of the sequence.
struct StepSequence {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t start = 0;
  std::span<const std::int32_t> pages;  ///< pages of its own KV, for start + count tokens
  /// Pages of its encoder's output; empty without encoder.
  std::span<const std::int32_t> cross_pages;
  std::int32_t cross_context = 0;  ///< tokens of its encoder's output
  SequenceTraits traits{};
};

/// One fused step over all running sequences: any mix of prefill chunks and single tokens. Borrowed
/// for the call.
struct Step {
  std::span<const TokenId> ids;             ///< [T]
  std::span<const StepSequence> sequences;  ///< cover 0 .. T-1 in order
  std::span<const std::int32_t> outputs;    ///< rows whose logits are wanted
  /// By output, which of its logits are needed; empty: all logits of every output. A device may
  /// compute more.
  std::span<const LogitNeeds> needs{};
};

}  // namespace weft
