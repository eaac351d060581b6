#pragma once

#include <vector>

#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/steps/step_meter.h"

namespace weft::measure {

/// The model of a step's time in seconds: the sum of these costs.
struct StepCosts {
  double step = 0;          ///< for every step
  double decode = 0;        ///< for each sequence that continues
  double prompt_token = 0;  ///< for each token of a prompt

  /// Fits the costs to measured steps by least squares.
  [[nodiscard]] static StepCosts of(const std::vector<StepRecord>& steps);
};

/// The name of these batches in reports.
inline constexpr const char* kPaddedBatches = "static, padded (computed)";

/// Computes the outcomes of request-level scheduling, as Orca describes it (section 3, figure 3).
/// The waiting requests begin together, ended ones are still computed, and all return with the
/// longest. The outcomes are computed, not measured, because the engine's own batches drop ended
/// sequences. Single tokens have no times of their own: they come at the end.
[[nodiscard]] std::vector<Outcome> padded_batches(const std::vector<Arrival>& arrivals,
                                                  std::size_t rows, const StepCosts& costs);

}  // namespace weft::measure
