#pragma once

#include "weft/model/program/program.h"

namespace weft {

/// Adds the sums of ranks that share layers. Where each rank has an addend (BufferPlan::is_part),
/// an AllReduceOp stands behind the op that writes it, and other ops read the sum. An addend that
/// each reader adds to another addend needs none, because that one's sum has both: a layer whose
/// attention and MLP read the same is summed up once. Where an op adds a whole value to an addend,
/// the first rank alone adds it.
[[nodiscard]] Program add_sums(Program program);

}  // namespace weft
