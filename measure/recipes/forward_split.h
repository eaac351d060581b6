#pragma once

#include <string>

#include "weft/measure/engine/engine_load.h"

namespace weft::measure {

/// Where the time of a run's requests went: medians over the requests, in seconds.
struct ForwardSplit {
  double whole = 0;            ///< from a request's beginning to its end
  double forward = 0;          ///< the part of it in which a step ran, for any request
  double others = 0;           ///< the rest
  double others_per_step = 0;  ///< `others` over the number of steps that the request saw
};

/// Splits the time of a run on one device in which every request succeeded and none waited for a
/// row.
[[nodiscard]] ForwardSplit split_forward(const EngineRun& run);

/// `part` as in "1.23 %".
[[nodiscard]] std::string percent_text(double part);

}  // namespace weft::measure
