#pragma once

#include <vector>

#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/steps/step_meter.h"

namespace weft::measure {

/// What a step costs, in seconds: the sum of these.
struct StepCosts {
  double step = 0;          ///< of every one
  double decode = 0;        ///< of each sequence that continues
  double prompt_token = 0;  ///< of each token of a prompt

  /// By least squares, from steps that were measured.
  [[nodiscard]] static StepCosts of(const std::vector<StepRecord>& steps);
};

/// What reports call them.
inline constexpr const char* kPaddedBatches = "static, padded (computed)";

/// What request-level scheduling makes of arrivals as Orca describes it (section 3, figure 3):
/// those that wait begin together, ended ones are computed on, and all return with the longest.
/// Computed, since the engine's own batches let ended sequences go. Times of tokens are not known:
/// they come with the end.
[[nodiscard]] std::vector<Outcome> padded_batches(const std::vector<Arrival>& arrivals,
                                                  std::size_t rows, const StepCosts& costs);

}  // namespace weft::measure
