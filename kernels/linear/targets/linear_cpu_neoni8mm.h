#pragma once

#include <cstdint>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear_cpu.h"

namespace weft::neoni8mm {

/// Products of codes on ARM64 with SMMLA (FEAT_I8MM), which multiplies two rows by two outputs. A
/// single row uses SDOT (linear_cpu_neondot.h), with the same bits. Requires a target with I8MM.

/// The most rows of a tile: 16 sums, which leave half of 32 registers for the operands.
inline constexpr std::int64_t kTileRows = 4;

/// Multiplies 1 to kTileRows rows by one panel. Reads rows, words, sums and first of the tile.
void multiply_tile(std::int64_t rows, const CodedPanel& coded, const LinearTile& tile);

}  // namespace weft::neoni8mm
