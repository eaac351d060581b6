#pragma once

#include "weft/model/program/program.h"

namespace weft {

/// Adds the sums of ranks that share layers. If each rank has an addend (BufferPlan::is_part), an
/// AllReduceOp follows the op that writes it, and later ops read the sum. An addend that every
/// reader adds to another addend needs no sum of its own, because the other addend's sum includes
/// both. So a layer whose attention and MLP read the same input is summed up once. If an op adds a
/// whole value to an addend, only the first rank adds it.
[[nodiscard]] Program add_sums(Program program);

}  // namespace weft
