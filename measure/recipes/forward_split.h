#pragma once

#include <string>

#include "weft/measure/engine/engine_load.h"

namespace weft::measure {

/// The parts of a run's request times: medians over the requests, in seconds.
struct ForwardSplit {
  double whole = 0;            ///< from a request's beginning to its end
  double forward = 0;          ///< the time in which a step ran, for any request
  double others = 0;           ///< the rest of the time
  double others_per_step = 0;  ///< `others` divided by the number of steps that the request saw
};

/// Splits the times of a run on one device in which every request succeeded and none waited for a
/// row.
[[nodiscard]] ForwardSplit split_forward(const EngineRun& run);

/// Returns `part` in the form "1.23 %".
[[nodiscard]] std::string percent_text(double part);

}  // namespace weft::measure
