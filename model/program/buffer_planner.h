#pragma once

#include <cstdint>
#include <vector>

#include "weft/model/program/program.h"

namespace weft {

/// Gives every buffer that `list` uses its offset, such that buffers whose lives meet do not
/// overlap and the whole is small: in order of size, each goes to the lowest gap that is free for
/// its whole life (greedy by size; Pisarchyk and Lee, arXiv 2001.03288, section 5). Fills the sizes
/// of `list`. Rows begin at multiples of `alignment` floats; of 16, a cache line, unless a device
/// wants more.
void plan_buffers(OpList& list, std::vector<BufferPlan>& buffers, std::int64_t alignment = 16);

}  // namespace weft
