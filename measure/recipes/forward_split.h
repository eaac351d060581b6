#pragma once

#include <string>

#include "weft/measure/engine/engine_load.h"

namespace weft::measure {

/// Where the time of a run's requests went: medians of them, in seconds.
struct ForwardSplit {
  double whole = 0;            ///< from a request's beginning to its end
  double forward = 0;          ///< of it, while a step ran, of whomever
  double others = 0;           ///< the rest
  double others_per_step = 0;  ///< the rest over the steps that the request saw
};

/// Of a run on one device in which every request succeeded and nobody waited for a row.
[[nodiscard]] ForwardSplit split_forward(const EngineRun& run);

/// "1.23 %"
[[nodiscard]] std::string percent_text(double part);

}  // namespace weft::measure
