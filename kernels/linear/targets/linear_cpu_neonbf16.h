#pragma once

#include <cstdint>

#include "weft/kernels/linear/linear_cpu.h"

namespace weft {

/// The parts of the linear op that multiply bf16 on ARM64 with BFMMLA (FEAT_BF16), which multiplies
/// two rows by two outputs, four inputs at a time. Requires a cpu_target() with BF16.
///
/// A single row uses BFMMLA too, with itself as the second row. BFDOT would need half of the work,
/// but editions of Arm's manual disagree on whether BFMMLA adds its two pairs of products to the
/// sum one after the other, as two BFDOTs do, or both at once. So a row's bits could depend on
/// whether it is alone. Sums round to odd; a bf16 below the least normal number counts as zero.
namespace neonbf16 {

/// Most rows of a tile: 16 sums, 4 weights and 4 inputs in 32 registers.
inline constexpr std::int64_t kTileRows = 8;

/// Rounds `count` inputs to bf16, to nearest even, and writes them as ceil(count / 2) pairs, row
/// `index` of the `rows` of a tile: [words / 2, rows, 2], and an odd last word [rows]. An odd count
/// is padded with zero.
void pack_row(const float* row, std::int64_t count, std::uint32_t* tile, std::int64_t index,
              std::int64_t rows);

/// Multiplies 1 to kTileRows rows, packed as above, by one panel. `tile.words` is even in all
/// blocks of a row but the last.
void multiply_tile(std::int64_t rows, const LinearTile& tile);

}  // namespace neonbf16
}  // namespace weft
