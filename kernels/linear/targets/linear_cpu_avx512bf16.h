#pragma once

#include <cstdint>

#include "weft/kernels/linear/linear_cpu.h"

namespace weft {

/// The parts of the linear op that multiply bf16 on AVX512-BF16 (VDPBF16PS). Requires a
/// cpu_target() with AVX512-BF16.
namespace avx512bf16 {

/// Most rows of a tile.
inline constexpr std::int64_t kTileRows = 12;

/// Rounds `count` inputs to bf16 and writes them as ceil(count / 2) pairs, `stride` words apart. An
/// odd count is padded with zero.
void pack_row(const float* row, std::int64_t count, std::uint32_t* to, std::int64_t stride);

/// Multiplies 1 to kTileRows rows by 1 or 2 panels.
void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile);

}  // namespace avx512bf16
}  // namespace weft
