#pragma once

#include <cstdint>

#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/simd/amx_tiles.h"

namespace weft::amxbf16 {

/// The parts of the linear op that multiply bf16 on AMX (TDPBF16PS). Only where cpu_target() says
/// so.
///
/// A sum's order is the processor's, whatever the number of rows: 32 inputs at a time, of which the
/// products of the even ones and those of the odd ones are each added up one after the other,
/// fused; both are added, and that to the sum so far. Numbers below the least normal one count as
/// zero.

/// Words (pairs of bf16) of a row that one product takes: a line of a tile.
inline constexpr std::int64_t kLineWords = 16;

/// Most rows of a tile of LinearTile: two of the processor's.
inline constexpr std::int64_t kTileRows = 32;

/// Rounds `count` inputs of row `r` of `rows` to bf16 and writes them to `to`, which has
/// [words / 16][rows][16] words; what fills up the last line is zero.
void pack_row(const float* row, std::int64_t count, std::uint32_t* to, std::int64_t r,
              std::int64_t rows);

/// 1 to kTileRows rows, 1 or 2 panels; words are whole lines. `tiles` are the calling thread's.
void multiply_tile(std::int64_t rows, std::int64_t panels, const LinearTile& tile, AmxTiles& tiles);

}  // namespace weft::amxbf16
