// Beam searches: which beams go on is known only after a step, so a group of beams does not run
// ahead.

#include <utility>

#include "weft/schedule/scheduler.h"

namespace weft {

void Scheduler::take_beam(Group& group, std::int32_t index, std::span<const TokenLogprob> top) {
  group.candidates[static_cast<std::size_t>(index)].assign(top.begin(), top.end());
  if (std::cmp_less(++group.beams_ready, group.beams->beams())) return;
  group.beams_ready = 0;
  step_beams(group);
}

/// Every beam goes on from one of those before it: it shares that one's pages, and copies the last
/// when it writes to it.
void Scheduler::step_beams(Group& group) {
  std::vector<std::span<const TokenLogprob>> lists;
  for (std::size_t i = 0; i < group.beams->beams(); ++i) lists.emplace_back(group.candidates[i]);
  const std::span<const Beam> beams = group.beams->advance(lists);
  stats_.output_tokens += beams.size();
  served(group).charge_output(group.client, static_cast<std::int64_t>(beams.size()));
  if (beams.empty()) {
    // Without any output no logit was a number above -inf from some step on.
    const bool found = !group.beams->best(1).empty();
    return finish(group, found ? GroupEnd::kDone : GroupEnd::kFailed, {});
  }
  std::vector<Sequence> after(group.sequences.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    const Sequence& before = group.sequences[i];
    Sequence& next = after[i];
    next.row = before.row;
    next.serial = before.serial;
    next.fresh = false;
    next.computed = group.prompt_tokens();  // one that has no beam feeds nothing
    if (i >= beams.size()) continue;
    const auto parent = static_cast<std::size_t>(beams[i].parent);
    const Sequence& from = group.sequences[parent];
    // Its sampler begins anew with the tokens of another beam.
    next.fresh = parent != i || before.fresh;
    next.computed = from.computed;
    next.outputs.reserve(static_cast<std::size_t>(group.spec.max_tokens));
    next.outputs.assign(from.outputs.begin(), from.outputs.end());
    next.outputs.push_back(beams[i].token);
    next.pages.reserve(from.pages.capacity());
    next.pages.assign(from.pages.begin(), from.pages.end());
    pages_.share(next.pages);
  }
  for (const Sequence& before : group.sequences) pages_.release(before.pages);
  group.sequences = std::move(after);
  group.phase = GroupPhase::kForked;
}

}  // namespace weft
