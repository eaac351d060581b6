#pragma once

#include <cstdint>

namespace weft {

/// Whether this processor multiplies bf16 (VDPBF16PS, and by tiles TDPBF16PS; on ARM64 BFMMLA).
[[nodiscard]] bool multiplies_bf16();

/// As many multiplications and additions of bf16 as fit into registers and nothing else, on one
/// thread: the processor's limit. Only where multiplies_bf16().
void do_bf16_operations(std::int64_t operations);

}  // namespace weft
