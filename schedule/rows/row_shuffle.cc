#include "weft/schedule/rows/row_shuffle.h"

#include <cstddef>
#include <optional>

#include "weft/core/error/checked.h"
#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

/// The running rows in a range of rows: their number and cost.
struct Running {
  std::int64_t cost = 0;
  std::size_t rows = 0;

  void add(std::int64_t row_cost) {
    cost += row_cost;
    rows += row_cost != 0 ? 1 : 0;
  }
  void subtract(std::int64_t row_cost) {
    cost -= row_cost;
    rows -= row_cost != 0 ? 1 : 0;
  }
};

Running sum_of(std::span<const std::int64_t> costs) {
  Running all;
  for (const std::int64_t cost : costs) {
    if (cost < 0 || !checked_add(all.cost, cost))
      internal_error("costs of rows that do not add up");
    all.add(cost);
  }
  return all;
}

/// Returns where the window begins that keeps the greatest cost in place, then the most rows, then
/// the lowest.
std::size_t best_window(std::span<const std::int64_t> costs, std::size_t length) {
  Running window;
  for (std::size_t row = 0; row < length; ++row) window.add(costs[row]);
  Running best = window;
  std::size_t first = 0;
  for (std::size_t end = length; end < costs.size(); ++end) {
    window.add(costs[end]);
    window.subtract(costs[end - length]);
    if (window.cost > best.cost || (window.cost == best.cost && window.rows > best.rows)) {
      best = window;
      first = end + 1 - length;
    }
  }
  return first;
}

}  // namespace

RowRegion shuffle_rows(std::span<const std::int64_t> costs, std::vector<PlanMove>& moves) {
  const std::size_t running = sum_of(costs).rows;
  const std::size_t first = best_window(costs, running);
  const std::size_t end = first + running;
  std::size_t hole = first;
  for (std::size_t row = 0; row < costs.size(); ++row) {
    if (row == first) row = end;  // rows inside stay
    if (row >= costs.size()) break;
    if (costs[row] == 0) continue;
    while (costs[hole] != 0) ++hole;  // as many holes inside as running rows outside
    moves.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(hole++)});
  }
  return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(running)};
}

}  // namespace weft
