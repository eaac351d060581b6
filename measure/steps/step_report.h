#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/measure/report/report.h"
#include "weft/measure/steps/step_bench.h"

namespace weft::measure {

/// Reports the figures of a model's steps as tables, curves, sentences and data. `model` is the
/// model's name; `facts` say how it was measured, and the limits are added to them.
[[nodiscard]] Report step_report(const StepFigures& figures, const std::string& model,
                                 std::vector<std::pair<std::string, std::string>> facts);

}  // namespace weft::measure
