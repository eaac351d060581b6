#pragma once

#include <cstdint>

namespace weft {

/// Fused multiplications of float32 on registers alone, with the best instruction set of this
/// processor: what no kernel can exceed. Does at least `count` of them (single numbers, not
/// vectors) on the calling thread and returns how many.
std::int64_t do_fused_multiplications(std::int64_t count);

}  // namespace weft
