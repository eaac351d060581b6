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

/// Plans how the running rows become contiguous at the least cost. costs[row] is what moving that
/// row costs, > 0, or 0 for a row that is free; their sum must fit the type (below 0, or a sum that
/// does not fit, is an internal_error). Appends the moves to `moves` and returns the region that
/// the running rows fill afterwards.
///
/// Among the plans of least cost it takes one of the fewest moves, and among those the one nearest
/// to row 0. Each move is from a running row outside of the region to a free row inside of it, no
/// row appears twice, so the moves may be done in any order or at once.
///
/// The least of one shuffle is not the least of a history: who joins should take a hole of the
/// region, or the row right behind or before it, so that joining alone makes nothing to move.
///
/// Takes two passes over the rows and allocates only what `moves` has not reserved; there are at
/// most costs.size() / 2 moves. Thread-safe.
///
/// Source: Flover, section V.D, Algorithm 3: the running rows, n of them, end in some window of n
/// rows; who is inside stays, so a window costs what lies outside of it, and a sliding sum finds
/// the best. As it is printed there the first window is never looked at; here it is.
RowRegion shuffle_rows(std::span<const std::int64_t> costs, std::vector<PlanMove>& moves);

}  // namespace weft
