#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/model_device.h"
#include "weft/measure/perplexity/token_mean.h"
#include "weft/measure/perplexity/token_window.h"

namespace weft::measure {

/// The differences between a model's predictions and a reference's for the same tokens.
struct PredictionDifference {
  TokenMean reference_loss;        ///< the reference's negative log likelihood, in nats a token
  TokenMean loss_difference;       ///< the model's loss minus the reference's, token by token
  TokenMean divergence;            ///< KL divergence of the model from the reference, in nats
  std::vector<float> divergences;  ///< divergence of every token, for quantiles
  TokenMean same_top;              ///< 1 where both have the same most probable token, else 0
};

struct PerplexityReport {
  TokenMean loss;  ///< the tokens' negative log likelihood in nats
  std::optional<PredictionDifference> difference;
};

/// The inputs of a measurement. Borrowed for the call.
struct PerplexityRun {
  ModelDevice* model = nullptr;
  ModelDevice* reference = nullptr;  ///< the model to compare with, or null; it has the same
                                     ///< vocabulary
  std::span<const TokenId> tokens;
  std::span<const TokenWindow> windows;
  /// Called with the number of scored tokens; false ends the run with the result so far.
  std::function<bool(std::int64_t)> progress;
};

/// Reads the text window by window and scores its tokens. It holds the logits of one step, and one
/// number for each token with a reference. kBadSteps naming the token whose logits are not numbers;
/// errors of SequenceRunner::feed().
[[nodiscard]] Result<PerplexityReport> measure_perplexity(const PerplexityRun& run);

}  // namespace weft::measure
