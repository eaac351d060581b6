#pragma once

#include <cstdint>
#include <vector>

#include "weft/model/program/program.h"

namespace weft {

/// Assigns an offset to every buffer that `list` uses. Buffers that are live at the same time do
/// not overlap, and the total is small: in order of size, each buffer goes to the lowest gap that
/// is free for its whole life (greedy by size; Pisarchyk and Lee, arXiv 2001.03288, section 5).
/// Sets the sizes of `list`. Rows begin at multiples of `alignment` floats. The default of 16 is a
/// cache line; a device may need more.
void plan_buffers(OpList& list, std::vector<BufferPlan>& buffers, std::int64_t alignment = 16);

}  // namespace weft
