#include "weft/schedule/step/tick.h"

#include <cstddef>

namespace weft {

void Tick::reserve(const DeviceLimits& limits) {
  const auto rows = static_cast<std::size_t>(limits.rows);
  const auto tokens = static_cast<std::size_t>(limits.step_tokens);
  // A row's new pages in a tick are its chunk's pages, or its whole table when it begins or moves
  // in slabs; that is rare, and then the vector grows once.
  const auto pages = 2 * tokens + static_cast<std::size_t>(limits.pages_per_row());
  plan.slab_copies.reserve(rows);
  plan.moves.reserve(rows);
  plan.starts.reserve(rows);
  plan.tables.reserve(rows);
  // With host memory a prompt's pages may evict other pages to it, and may come back from it.
  plan.copies.reserve(limits.host_pages > 0 ? rows + pages : rows);
  plan.adapters.reserve(static_cast<std::size_t>(limits.adapter_places));
  plan.restores.reserve(limits.has_state() ? rows : 0);
  plan.snapshots.reserve(limits.has_state() ? rows : 0);
  plan.encodes.reserve(limits.cross_pages > 0 ? rows : 0);
  plan.entries.reserve(rows);
  plan.forks.reserve(rows);
  plan.samples.reserve(rows);
  plan.ids.reserve(tokens);
  plan.pages.reserve(pages + 2 * rows * static_cast<std::size_t>(limits.snapshot_pages));
  const std::size_t results = rows * (1 + static_cast<std::size_t>(limits.guesses));
  result.samples.reserve(results);
  result.top.reserve(results * kMaxTopLogprobs);
  result.adapters.reserve(static_cast<std::size_t>(limits.adapter_places));
  owners.reserve(rows);
  computed.reserve(rows);
}

void Tick::clear() {
  plan.clear();
  result.clear();
  shape = {};
  guess_costs = {};
  owners.clear();
  computed.clear();
}

StepShape shape_of(const Plan& plan, std::int64_t window) {
  StepShape shape;
  for (const PlanEntry& entry : plan.entries) {
    const std::int32_t given = entry.count - entry.guesses;
    (given == 1 ? shape.decode_tokens : shape.prefill_tokens) += given;
    shape.guess_tokens += entry.guesses;
    shape.context_tokens += attended_tokens(window, entry.start, entry.count);
  }
  for (const PlanEncode& one : plan.encodes) shape.prefill_tokens += one.count;
  return shape;
}

StepShape shape_that_ran(const Tick& tick) {
  StepShape shape = tick.shape;
  std::size_t result = 0;
  for (const PlanSample& sample : tick.plan.samples) {
    const std::vector<SampleResult>& results = tick.result.samples;
    const PlanEntry& entry = tick.plan.entries[static_cast<std::size_t>(sample.entry)];
    const std::int32_t made = results.at(result).guessed;
    while (results.at(result++).more) {
    }
    if (entry.guesses == 0) continue;
    shape.guess_tokens -= entry.guesses - made;
    shape.context_tokens -= entry.guesses - made;
  }
  return shape;
}

}  // namespace weft
