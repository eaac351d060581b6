#pragma once

#include <span>

#include "weft/core/token.h"
#include "weft/kernels/rows.h"
#include "weft/kernels/share.h"

namespace weft {

/// The loss of predicting tokens: losses[t] = -log softmax(logits[t])[targets[t]].
struct CrossEntropyParams {
  /// [T, V]; overwritten with the gradient of sum over t of weights[t] * losses[t].
  Rows logits = {};
  std::span<const TokenId> targets = {};  ///< [T], each in [0, V)
  std::span<const float> weights = {};    ///< [T]
  std::span<float> losses = {};           ///< [T], written: the losses, not multiplied by weights
};

/// A row's results do not depend on the other rows. Allocates nothing.
void cross_entropy(const CrossEntropyParams& params, Share share);

}  // namespace weft
