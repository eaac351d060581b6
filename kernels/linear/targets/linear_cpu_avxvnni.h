#pragma once

#include <cstdint>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear_cpu.h"

namespace weft::avxvnni {

/// Products of codes on AVX-VNNI (VPDPBUSD of 256 bits), with the same bits as
/// multiply_codes() of linear_codes-inl.h. Requires a cpu_target() with AVX-VNNI.

/// The most rows of a tile: 8 sums, which leave half of 16 registers for the operands.
inline constexpr std::int64_t kTileRows = 4;

/// Multiplies 1 to kTileRows rows by one panel. Reads rows, words, sums and first of the tile.
void multiply_tile(std::int64_t rows, const CodedPanel& coded, const LinearTile& tile);

}  // namespace weft::avxvnni
