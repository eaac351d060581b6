#include "weft/schedule/beam_step.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace weft {
namespace {

/// Makes `next`, the sequence of row `index`, continue from the beam's parent.
void follow_beam(const Group& group, const Beam& beam, std::size_t index, Sequence& next,
                 KvMemory& memory) {
  const auto parent = static_cast<std::size_t>(beam.parent);
  const Sequence& from = group.sequences[parent];
  // A row's sampler begins anew if the row gets the tokens of another beam.
  next.fresh = parent != index || from.fresh;
  next.progress = from.progress;
  next.outputs.reserve(static_cast<std::size_t>(group.spec.max_tokens));
  next.outputs.assign(from.outputs.begin(), from.outputs.end());
  next.add(beam.token);
  next.table.pages.reserve(from.table.pages.capacity());
  // A beam search runs in pages only, so there is no slab to copy.
  static_cast<void>(memory.fork(from, next));
}

}  // namespace

bool add_candidates(Group& group, std::int32_t sequence, std::span<const TokenLogprob> top) {
  group.candidates[static_cast<std::size_t>(sequence)].assign(top.begin(), top.end());
  if (std::cmp_less(++group.beams_ready, group.beams->beams())) return false;
  group.beams_ready = 0;
  return true;
}

std::span<const Beam> advance_beams(Group& group) {
  std::vector<std::span<const TokenLogprob>> lists;
  for (std::size_t i = 0; i < group.beams->beams(); ++i) lists.emplace_back(group.candidates[i]);
  return group.beams->advance(lists);
}

void follow_beams(Group& group, std::span<const Beam> beams, KvMemory& memory) {
  std::vector<Sequence> after(group.sequences.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    Sequence& next = after[i];
    next.row = group.sequences[i].row;
    next.under_way = UnderWay(group.sequences[i].under_way.serial());
    next.fresh = false;
    next.progress = Progress(group.prompt_tokens());
    next.progress.begin(group.prompt_tokens());  // a row without a beam feeds no tokens
    if (i < beams.size()) follow_beam(group, beams[i], i, next, memory);
  }
  for (Sequence& before : group.sequences) memory.release(group, before);
  group.sequences = std::move(after);
  group.phase = GroupPhase::kForked;
}

}  // namespace weft
