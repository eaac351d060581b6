#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft {

/// Highway's name of the instruction set that the host's ops run on now: on x86-64 "AVX3"
/// (AVX-512), "AVX2" or the portable "SCALAR". Highway chooses the processor's best once.
[[nodiscard]] std::string_view simd_target();

/// Highway's numbers of all targets that this processor can run, best first; a test forces one
/// with hwy::SetSupportedTargetsForTest.
[[nodiscard]] std::vector<std::int64_t> simd_targets();

}  // namespace weft
