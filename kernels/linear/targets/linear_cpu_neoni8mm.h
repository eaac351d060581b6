#pragma once

#include <cstdint>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear_cpu.h"

namespace weft::neoni8mm {

/// Products of codes on ARM64 with SMMLA (FEAT_I8MM), which multiplies two rows by two outputs. One
/// row goes by SDOT (linear_cpu_neondot.h). The bits are the same. Only where cpu_target() says so.

/// Most rows of a tile: 16 sums, which leaves half of 32 registers for what they are made of.
inline constexpr std::int64_t kTileRows = 4;

/// 1 to kTileRows rows by one panel. Of the tile rows, words, sums and first are looked at.
void multiply_tile(std::int64_t rows, const CodedPanel& coded, const LinearTile& tile);

}  // namespace weft::neoni8mm
