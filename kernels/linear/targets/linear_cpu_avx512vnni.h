#pragma once

#include <cstdint>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear_cpu.h"

namespace weft::avx512vnni {

/// Products of codes on AVX512-VNNI (VPDPBUSD), with the same bits as multiply_codes() of
/// linear_codes-inl.h. Requires a cpu_target() with AVX512-VNNI.

/// Most rows of a tile: with two panels, 12 sums of integers and 12 of floats.
inline constexpr std::int64_t kTileRows = 6;

/// Multiplies 1 to kTileRows rows by 1 or 2 panels, which may differ in type. Reads rows, words,
/// sums and first of the tile.
void multiply_tile(std::int64_t rows, std::int64_t panels, const CodedPanel* coded,
                   const LinearTile& tile);

}  // namespace weft::avx512vnni
