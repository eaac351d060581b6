#pragma once

#include <cstdint>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/simd/amx_tiles.h"

namespace weft::amxint8 {

/// Products of codes on AMX (TDPBSSD, TDPBSUD), with the same bits as multiply_codes() of
/// linear_codes-inl.h except for the sign of a zero. Requires a cpu_target() with AMX.
///
/// Each block of 32 inputs has its own scale, so the 16 x 16 integers of each block leave their
/// tile, become f32 and are added to sums in registers. That takes twice as long as the product,
/// but only half as long as VPDPBUSD.

/// The most rows of a LinearTile. A tile has room for 8 or 16 rows; rows of padding are multiplied
/// too.
inline constexpr std::int64_t kTileRows = 16;
constexpr std::int64_t room_of(std::int64_t rows) noexcept {
  return rows > kTileRows / 2 ? kTileRows : kTileRows / 2;
}

/// The fewest rows of a step for which AMX is faster than VPDPBUSD. It holds for groups of 8 words,
/// and for groups of 4 words, which take as long.
inline constexpr std::int64_t kLeastRows = 7;
inline constexpr std::int64_t kLeastRowsOfHalves = 28;

/// Words of a block of 32 inputs for each of the R rows that a tile has room for: [R][8] of codes,
/// then for the R rows the scale and, as f32, the sums of the first 16 codes, of the last 16, and
/// of all.
inline constexpr std::int64_t kBlockWords = CodedPlan::kCodeWords + 4;

/// Rounds row `r` of a tile's `rows` as pack_coded_row() does. The call for the last row sets the
/// scales of the padding rows to 0.
void pack_row(const float* row, std::int64_t count, std::uint32_t* to, std::int64_t r,
              std::int64_t rows);

/// Subtracts the offset from unsigned codes in place, which makes them int8. `panel` has `count`
/// inputs, and its codes have been unpacked.
void center(CodedPanel& panel, std::int64_t count);

/// Multiplies 1 to kTileRows rows by 1 or 2 panels, which may differ in type; panels with an offset
/// are centered. Reads rows, words, sums and first of the tile. `tiles` belongs to the calling
/// thread.
void multiply_tile(std::int64_t rows, std::int64_t panels, const CodedPanel* coded,
                   const LinearTile& tile, AmxTiles& tiles);

}  // namespace weft::amxint8
