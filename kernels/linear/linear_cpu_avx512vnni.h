#pragma once

#include <cstdint>

#include "weft/kernels/linear/linear_codes_avx512vnni.h"
#include "weft/kernels/linear/linear_cpu.h"

namespace weft::avx512vnni {

/// The parts of the linear op that multiply codes of weights by int8 on AVX512-VNNI (VPDPBUSD).
/// Only where cpu_target() says so. A row's numbers are rounded to int8 in blocks of 32, each with
/// a scale of its own, so that a block's largest number is +-127. Sums of products of codes are
/// exact; they are scaled and added in the order of the blocks.

/// Most rows of a tile: with two panels, 12 sums of integers and 12 of floats.
inline constexpr std::int64_t kTileRows = 6;

/// Words of 32 bits that a block of 32 inputs takes in a packed row: 8 of codes, the scale (f32),
/// the sum of the first 16 codes and that of the others.
inline constexpr std::int64_t kBlockInputs = 32;
inline constexpr std::int64_t kBlockWords = 11;

/// Rounds a row and writes its words `stride` words apart. A block with a number that is not finite
/// gets the scale NaN.
void pack_row(const float* row, std::int64_t inputs, std::uint32_t* to, std::int64_t stride);

/// 1 to kTileRows rows, 1 or 2 panels, which may differ in type. Of the tile rows, words, sums and
/// first are looked at.
void multiply_tile(std::int64_t rows, std::int64_t panels, const CodedPanel* coded,
                   const LinearTile& tile);

}  // namespace weft::avx512vnni
