#pragma once

#include <string>
#include <vector>

#include "weft/config/config.h"
#include "weft/measure/engine/engine_load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/report/report.h"

namespace weft::measure {

/// A load under one policy.
struct MeasuredPolicy {
  Config config;
  EngineRun run;
};

/// What an engine did with a load under each policy, over the first one's. Not empty. Of a single
/// policy with all that load_tables() and load_figures() show.
[[nodiscard]] Report engine_report(const std::string& model,
                                   const std::vector<MeasuredPolicy>& measured, const Slo& slo);

}  // namespace weft::measure
