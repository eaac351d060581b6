#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft {

/// The instruction set that the host's ops run with now: "AVX3" (AVX-512), "AVX2" or the portable
/// "SCALAR" on x86-64. It is the best that the processor has, chosen once by Highway.
[[nodiscard]] std::string_view simd_target();

/// Highway's numbers of all that this processor could run with, best first; a test forces one with
/// hwy::SetSupportedTargetsForTest.
[[nodiscard]] std::vector<std::int64_t> simd_targets();

}  // namespace weft
