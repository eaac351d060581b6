#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/measure/report/report.h"
#include "weft/measure/steps/step_bench.h"

namespace weft::measure {

/// The figures of a model's steps as tables, curves, sentences and data. `model` is what it is
/// called; `facts` say how it was measured, and what the limits are is added to them.
[[nodiscard]] Report step_report(const StepFigures& figures, const std::string& model,
                                 std::vector<std::pair<std::string, std::string>> facts);

}  // namespace weft::measure
