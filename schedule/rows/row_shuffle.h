#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/plan.h"

namespace weft {

/// Rows first .. first+count-1.
struct RowRegion {
  std::int32_t first = 0;
  std::int32_t count = 0;

  friend bool operator==(const RowRegion&, const RowRegion&) = default;
};

/// Plans how the running rows become contiguous at the least cost. costs[row] is the cost of moving
/// the row, > 0, or 0 for a free row. A negative cost, or a sum that overflows, is an
/// internal_error. Appends the moves to `moves` and returns the region that the running rows fill
/// afterwards.
///
/// Of the plans of least cost it takes the fewest moves, then the region nearest to row 0. Each
/// move goes from a running row outside the region to a free row inside it, and no row appears
/// twice, so the moves may be done in any order or at once.
///
/// The best single shuffle is not the best over time: a sequence that joins should take a hole of
/// the region, or the row next to it, so that joining alone causes no moves.
///
/// Takes two passes over the rows. Allocates only if `moves` lacks room; there are at most
/// costs.size() / 2 moves. Thread-safe.
///
/// Source: Flover, section V.D, Algorithm 3. The n running rows end up in some window of n rows.
/// Rows inside stay, so a window costs the rows outside it, and a sliding sum finds the best
/// window. The printed algorithm never considers the first window; this one does.
RowRegion shuffle_rows(std::span<const std::int64_t> costs, std::vector<PlanMove>& moves);

}  // namespace weft
