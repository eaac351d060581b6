#pragma once

#include "weft/measure/engine/running_pipeline.h"

namespace weft::bench {

/// Each prints a table.
void run_overload();
void run_prefill();

using measure::RunningPipeline;

}  // namespace weft::bench
