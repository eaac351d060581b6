#pragma once

#include <cstdint>

namespace weft {

/// Does at least `count` fused multiplications of float32 (single numbers, not vectors) on the
/// calling thread and returns their number. They use registers alone and the best instruction set
/// of this processor, so no kernel is faster.
std::int64_t do_fused_multiplications(std::int64_t count);

}  // namespace weft
