#pragma once

#include <cstdint>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear_cpu.h"

namespace weft::neondot {

/// Products of codes on ARM64 with SDOT (FEAT_DotProd), with the same bits as multiply_codes() of
/// linear_codes-inl.h. Only where cpu_target() says so.

/// Most rows of a tile: 16 sums, which leaves half of 32 registers for what they are made of.
inline constexpr std::int64_t kTileRows = 4;

/// 1 to kTileRows rows by one panel. Of the tile rows, words, sums and first are looked at.
void multiply_tile(std::int64_t rows, const CodedPanel& coded, const LinearTile& tile);

}  // namespace weft::neondot
