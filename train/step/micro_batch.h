#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/token.h"
#include "weft/kernels/gradients/packed_attention.h"

namespace weft {

/// Sequences that are computed at once, packed one behind the other. None sees another.
struct MicroBatch {
  std::vector<TokenId> ids;       ///< [T]
  std::vector<PackedSpan> spans;  ///< cover the T tokens in order
  std::vector<TokenId> targets;   ///< [T]: the token to be predicted behind each
  std::vector<float> weights;     ///< [T]: of its loss; 0: it is not predicted
  std::uint64_t dropout_key = 0;  ///< Dropout::key
  std::int64_t first = 0;         ///< token of the step that the first one is
};

}  // namespace weft
