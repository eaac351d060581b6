#include "weft/schedule/running_groups.h"

#include <algorithm>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

RunningGroups::RunningGroups(const DeviceLimits& limits, AdmissionMode admission, RowTable& rows,
                             KvMemory& memory, AdapterPlaces& adapters, WaitingGroups& waiting)
    : limits_(limits),
      admission_(admission),
      rows_(rows),
      memory_(memory),
      adapters_(adapters),
      waiting_(waiting) {
  groups_.reserve(static_cast<std::size_t>(limits.rows));
}

void RunningGroups::begin(Group& group) {
  waiting_.admit(group);
  adapters_.begin(group);
  reserve_outputs(group);
  if (admission_ == AdmissionMode::kReserve) memory_.reserve(group);
  group.phase = GroupPhase::kPrompt;
  for (std::size_t i = 0; i < group.sequences.size(); ++i) {
    if (!group.sequences[i].ended()) rows_.take(group, static_cast<std::int32_t>(i));
  }
  // The prompt's pages are taken now, so that groups that begin in the same plan do not take each
  // other's pages.
  Sequence& leader = group.leader();
  const bool alone = group.alive == 1;
  const std::int32_t tokens = alone ? leader.progress.known() : group.prompt_tokens();
  // The last token is always computed, since its logits choose the next token.
  leader.progress.begin(memory_.finder().take(group, leader, tokens - 1));
  const std::int32_t read = memory_.begin_encoder(group);
  if (group.cached < 0)
    group.cached = read + std::min(leader.progress.planned(), group.prompt_tokens());
  memory_.slide(leader);
  if (!memory_.extend(leader, memory_.tokens_to_hold(leader, tokens))) {
    internal_error("pages that were counted are not there");
  }
  groups_.push_back(&group);
}

void RunningGroups::reserve_outputs(Group& group) const {
  const auto outputs = static_cast<std::size_t>(group.spec.max_tokens);
  const std::int64_t tokens = std::int64_t{group.prompt_tokens()} + group.spec.max_tokens;
  // One more, since a shared page is copied to a page behind the table's end.
  const auto pages = static_cast<std::size_t>(limits_.kv_pages_for(tokens)) + 1;
  for (Sequence& sequence : group.sequences) {
    sequence.outputs.reserve(outputs);
    sequence.table.pages.reserve(pages);
    sequence.table.snapshots.reserve(StateKeeper::most_new(limits_));
  }
  if (!group.spec.beams() || group.beams) return;
  group.beams.emplace(group.spec.sequences, outputs);
  group.beams->start(group.spec.sampling->beams, outputs, group.spec.end_tokens);
  group.candidates.resize(group.sequences.size());
}

void RunningGroups::remove(Group& group) {
  release_all(group);
  std::erase(groups_, &group);
}

void RunningGroups::preempt(Group& group) {
  remove(group);
  ++preemptions_;
  waiting_.come_back(group);
}

void RunningGroups::release(Group& group, Sequence& sequence) {
  rows_.release(sequence);
  memory_.release(group, sequence);
  sequence.restart();
}

void RunningGroups::release_all(Group& group) {
  for (Sequence& sequence : group.sequences) release(group, sequence);
  memory_.release(group);
  adapters_.release(group);
  group.beams_ready = 0;
}

ChunkRoom RunningGroups::make_room_for_chunk(Group& group, Sequence& sequence) {
  memory_.slide(sequence);
  const std::int32_t known = group.alive == 1 ? sequence.progress.known() : group.prompt_tokens();
  const std::int32_t tokens = std::max(sequence.progress.planned() + sequence.chunk,
                                       memory_.tokens_to_hold(sequence, known));
  const auto first =
      static_cast<std::size_t>(sequence.progress.surely_planned() / limits_.page_tokens);
  ChunkRoom room = ChunkRoom::kFree;
  while (!memory_.extend(sequence, tokens) || !memory_.make_writable(sequence, first)) {
    Group* other = victim(group);
    if (other == nullptr) {
      preempt(group);
      return ChunkRoom::kNone;
    }
    preempt(*other);
    room = ChunkRoom::kTaken;
  }
  memory_.states().begin(group, sequence);
  return room;
}

std::int32_t RunningGroups::make_room_for_guesses(Sequence& sequence, std::int32_t most) {
  const std::int32_t tokens = sequence.progress.planned() + sequence.chunk;
  std::int64_t reach = memory_.tokens_with_spare_pages(sequence);
  if (!memory_.slabs()) {
    // Each running sequence may need a page for its next token.
    const std::int64_t page_tokens = limits_.page_tokens;
    const std::int64_t kept = (rows_.size() - rows_.free()) * page_tokens;
    reach = std::max(std::ssize(sequence.table.pages) * page_tokens, reach - kept);
  }
  const std::int64_t room = reach - tokens;
  const auto guesses = static_cast<std::int32_t>(std::min<std::int64_t>(most, room));
  return guesses > 0 && memory_.extend(sequence, tokens + guesses) ? guesses : 0;
}

Group* RunningGroups::victim(const Group& for_whom) const {
  Group* const batch = cheapest_batch(for_whom);
  if (batch != nullptr || for_whom.cls == RequestClass::kBatch) return batch;
  const auto turn = [](const Group& group) { return std::pair(group.priority, group.order); };
  Group* last = nullptr;
  for (Group* group : groups_) {
    if (last == nullptr || turn(*group) > turn(*last)) last = group;
  }
  return last != nullptr && turn(*last) > turn(for_whom) ? last : nullptr;
}

Group* RunningGroups::cheapest_batch(const Group& except) const {
  Group* best = nullptr;
  std::int64_t least = 0;
  for (Group* group : groups_) {
    if (group == &except || group->cls != RequestClass::kBatch) continue;
    std::int64_t loss = 0;
    for (const Sequence& sequence : group->sequences) loss += sequence.progress.planned();
    if (best != nullptr && loss >= least) continue;
    best = group;
    least = loss;
  }
  return best;
}

}  // namespace weft
