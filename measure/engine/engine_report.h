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

/// Makes a report on a load under each policy, with ratios to the first policy's figures.
/// `measured` must not be empty. For a single policy the report has everything of load_tables() and
/// load_figures().
[[nodiscard]] Report engine_report(const std::string& model,
                                   const std::vector<MeasuredPolicy>& measured, const Slo& slo);

}  // namespace weft::measure
