#pragma once

#include <cstdint>

#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/simd/amx_tiles.h"

namespace weft::amxbf16 {

/// The parts of the linear op that multiply bf16 on AMX (TDPBF16PS). Requires a cpu_target() with
/// AMX.
///
/// The processor determines a sum's order, whatever the number of rows. It takes 32 inputs at a
/// time and adds up the products of even inputs, and of odd inputs, in order and fused; then it
/// adds the two results and adds their sum to the earlier sum. Numbers below the least normal
/// number count as zero.

/// Words (pairs of bf16) of a row that one product takes: a line of a tile.
inline constexpr std::int64_t kLineWords = 16;

/// The most rows of a LinearTile: two tiles of the processor.
inline constexpr std::int64_t kTileRows = 32;

/// Rounds `count` inputs of row `r` of `rows` to bf16 and writes them to `to`, which has
/// [words / 16][rows][16] words. The last line is padded with zeros.
void pack_row(const float* row, std::int64_t count, std::uint32_t* to, std::int64_t r,
              std::int64_t rows);

/// Takes 1 to kTileRows rows, 1 or 2 panels and whole lines of words, and this thread's `tiles`.
void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile, AmxTiles& tiles);

}  // namespace weft::amxbf16
