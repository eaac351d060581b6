#pragma once

#include <string>
#include <vector>

#include "weft/config/config.h"
#include "weft/measure/engine/engine_load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/report/report.h"

namespace weft::measure {

/// The figures of a load under one policy.
struct MeasuredPolicy {
  Config config;
  EngineRun run;
};

/// A report on what an engine did with a load under each policy, as ratios to the first one's
/// figures. `measured` must not be empty; of a single policy the report shows all that
/// load_tables() and load_figures() give.
[[nodiscard]] Report engine_report(const std::string& model,
                                   const std::vector<MeasuredPolicy>& measured, const Slo& slo);

}  // namespace weft::measure
