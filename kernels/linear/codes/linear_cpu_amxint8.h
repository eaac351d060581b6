#pragma once

#include <cstdint>

#include "weft/kernels/linear/codes/linear_codes.h"
#include "weft/kernels/linear/linear_cpu.h"
#include "weft/kernels/simd/amx_tiles.h"

namespace weft::amxint8 {

/// Products of codes on AMX (TDPBSSD, TDPBSUD), with the same bits as multiply_codes() of
/// linear_codes-inl.h but for the sign of a zero. Only where cpu_target() says so.
///
/// A block of 32 inputs has a scale of its own, so its 16 x 16 integers leave their tile, become
/// f32 and are added to sums in registers. That takes twice as long as the product itself, and is
/// still half of what VPDPBUSD takes.

/// Most rows of a tile of LinearTile. It has room for 8 or 16: what fills it up is multiplied for
/// nothing.
inline constexpr std::int64_t kTileRows = 16;
constexpr std::int64_t room_of(std::int64_t rows) noexcept {
  return rows > kTileRows / 2 ? kTileRows : kTileRows / 2;
}

/// From so many rows of a step on AMX is faster than VPDPBUSD: with groups of 8 words, and with
/// those of 4, which take as long as 8.
inline constexpr std::int64_t kLeastRows = 7;
inline constexpr std::int64_t kLeastRowsOfHalves = 28;

/// Words that a block of 32 inputs takes for each row that there is room for (R): [R][8] of codes,
/// then for the R rows the scale, and as f32 the sum of the first 16 codes, that of the others, and
/// of both.
inline constexpr std::int64_t kBlockWords = CodedPlan::kCodeWords + 4;

/// Rounds row `r` of a tile's `rows` as pack_coded_row() does. The last sets the scales of what
/// fills up the tile to 0.
void pack_row(const float* row, std::int64_t count, std::uint32_t* to, std::int64_t r,
              std::int64_t rows);

/// Makes codes that are not signed int8 by taking the offset off, in place. `panel` is of
/// `count` inputs, and its codes have been unpacked.
void center(CodedPanel& panel, std::int64_t count);

/// 1 to kTileRows rows by 1 or 2 panels, which may differ in type; those with an offset are
/// centered. Of the tile rows, words, sums and first are looked at. `tiles` are the calling
/// thread's.
void multiply_tile(std::int64_t rows, std::int64_t panels, const CodedPanel* coded,
                   const LinearTile& tile, AmxTiles& tiles);

}  // namespace weft::amxint8
