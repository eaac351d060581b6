#pragma once

#include "weft/model/program/program.h"

namespace weft {

/// Has ranks that share layers add up what each of them has an addend of (BufferPlan::is_part):
/// an AllReduceOp stands behind the op that writes the addend, and other ops read the sum. There is
/// none where each op that reads the addend adds it to another addend, whose sum then has both: a
/// layer whose attention and MLP read the same is summed up once. Where an op adds a whole value to
/// an addend, the first rank alone adds it.
[[nodiscard]] Program add_sums(Program program);

}  // namespace weft
