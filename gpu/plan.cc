#include "weft/gpu/plan.h"

#include <numeric>

namespace weft {

void Plan::clear() {
  tick = 0;
  first_row = 0;
  rows = 0;
  slab_copies.clear();
  moves.clear();
  starts.clear();
  tables.clear();
  copies.clear();
  encodes.clear();
  entries.clear();
  forks.clear();
  samples.clear();
  ids.clear();
  pages.clear();
}

std::int32_t Plan::tokens() const noexcept {
  return std::accumulate(
      entries.begin(), entries.end(), std::int32_t{0},
      [](std::int32_t sum, const PlanEntry& entry) { return sum + entry.count; });
}

void StepResult::clear() {
  samples.clear();
  top.clear();
  took = {};
}

}  // namespace weft
