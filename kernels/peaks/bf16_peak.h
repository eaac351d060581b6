#pragma once

#include <cstdint>

namespace weft {

/// Whether this processor multiplies bf16 (VDPBF16PS, and by tiles TDPBF16PS; on ARM64 BFMMLA).
[[nodiscard]] bool multiplies_bf16();

/// Does at least `operations` multiplications and additions of bf16 on registers alone, on one
/// thread: the processor's limit. Requires multiplies_bf16().
void do_bf16_operations(std::int64_t operations);

}  // namespace weft
