#include "weft/schedule/memory/states/state_keeper.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace weft {

StateKeeper::StateKeeper(const PlanClock& clock, const DeviceLimits& limits, PrefixCache& pages,
                         const std::vector<PlanCopy>& copies)
    : clock_(clock), limits_(limits), pages_(pages), copies_(copies) {
  if (pages.nodes().snapshots().each() == 0) return;
  const auto rows = static_cast<std::size_t>(limits.rows);
  restores_.reserve(rows);
  new_pages_.reserve(static_cast<std::size_t>(limits.snapshot_pages));
  restore_pages_.reserve(rows * static_cast<std::size_t>(limits.snapshot_pages));
}

/// Returns how many tokens the sequence has where its next snapshot is to be made.
std::int64_t StateKeeper::next_place(const Group& group, const Sequence& sequence) const {
  const std::int64_t size = limits_.page_tokens;
  const std::int64_t planned = sequence.progress.planned();
  const std::int64_t every = limits_.snapshot_every * size;
  const std::int64_t next =
      every > 0 ? (planned / every + 1) * every : std::numeric_limits<std::int64_t>::max();
  // The last token of a prompt is always computed.
  const std::int64_t end_of_prompt = (group.prompt_tokens() - 1) / size * size;
  return end_of_prompt > planned ? std::min(next, end_of_prompt) : next;
}

std::int32_t StateKeeper::cut(const Group& group, const Sequence& sequence,
                              std::int32_t chunk) const {
  if (!covers(group)) return chunk;
  const std::int64_t to_place = next_place(group, sequence) - sequence.progress.planned();
  return static_cast<std::int32_t>(std::min<std::int64_t>(chunk, to_place));
}

void StateKeeper::begin_snapshot(const Group& group, Sequence& sequence) {
  take_back(sequence);  // where the chunk has grown
  const std::int64_t end = std::int64_t{sequence.progress.planned()} + sequence.chunk;
  if (end != next_place(group, sequence)) return;
  if (sequence.table.snapshots.size() >= most_new(limits_)) return;
  new_pages_.clear();
  if (!pages_.take(limits_.snapshot_pages, new_pages_)) return;
  NewSnapshot one = pages_.nodes().snapshots().add(new_pages_);
  one.tokens = static_cast<std::int32_t>(end);
  one.made_in = clock_.making();
  sequence.table.snapshots.push_back(one);
}

void StateKeeper::write_snapshot(Plan& plan, const Sequence& sequence) const {
  for (const NewSnapshot& one : sequence.table.snapshots) {
    if (one.made_in != clock_.making() || !pages_.nodes().snapshots().contains(one)) continue;
    const std::span<const PageId> pages = pages_.nodes().snapshots().pages(one.slot);
    plan.snapshots.push_back({sequence.row, static_cast<std::int32_t>(plan.pages.size())});
    plan.pages.insert(plan.pages.end(), pages.begin(), pages.end());
  }
}

bool StateKeeper::is_made(const Plan& plan, const PlanSnapshot& snapshot,
                          const Sequence& sequence) const {
  const PageId first = plan.pages[static_cast<std::size_t>(snapshot.first_page)];
  return std::ranges::any_of(sequence.table.snapshots, [&](const NewSnapshot& one) {
    return one.made_in == plan.tick && pages_.nodes().snapshots().contains(one) &&
           pages_.nodes().snapshots().pages(one.slot).front() == first;
  });
}

void StateKeeper::take_back(Sequence& sequence) {
  std::erase_if(sequence.table.snapshots, [this](const NewSnapshot& one) {
    if (one.made_in != clock_.making()) return false;
    pages_.nodes().snapshots().drop(one);
    return true;
  });
}

void StateKeeper::give_snapshots(Sequence& sequence) {
  std::erase_if(sequence.table.snapshots,
                [&](const NewSnapshot& one) { return is_settled(sequence, one); });
}

/// Whether the snapshot is a node's now, or lost.
bool StateKeeper::is_settled(Sequence& sequence, const NewSnapshot& one) {
  if (!pages_.nodes().snapshots().contains(one)) return true;
  if (one.made_in > clock_.sure()) return false;
  const std::int32_t index = one.tokens / limits_.page_tokens - 1;
  const PageTable& table = sequence.table;
  if (index >= table.findable && index >= table.gone) return false;
  const PageId node = table.pages[static_cast<std::size_t>(index)];
  if (node != kNoPage && pages_.nodes().is_kept(node)) {
    pages_.nodes().snapshots().give(node, one);
  } else {
    pages_.nodes().snapshots().drop(one);
  }
  return true;
}

std::int32_t StateKeeper::pages_on_host(PageId node) const noexcept {
  const std::int32_t slot = pages_.nodes().snapshots().of(node);
  const bool is_on_host =
      slot != StateSnapshots::kNone && !pages_.nodes().snapshots().is_on_device(slot);
  return is_on_host ? limits_.snapshot_pages : 0;
}

void StateKeeper::restore(const Sequence& sequence, PageId node) {
  const std::int32_t slot = pages_.nodes().snapshots().of(node);
  if (slot == StateSnapshots::kNone) return;
  const std::span<const PageId> pages = pages_.nodes().snapshots().pages(slot);
  restores_.push_back({&sequence, copies_.size(), restore_pages_.size()});
  restore_pages_.insert(restore_pages_.end(), pages.begin(), pages.end());
  pages_.nodes().snapshots().touch(slot);
  ++restored_;
}

void StateKeeper::write_restores(Plan& plan) {
  for (const Restore& one : restores_) {
    plan.restores.push_back({one.sequence->row, static_cast<std::int32_t>(plan.pages.size()),
                             static_cast<std::int32_t>(plan.copies.size() + one.after_copies)});
    const auto first = restore_pages_.begin() + static_cast<std::ptrdiff_t>(one.first_page);
    plan.pages.insert(plan.pages.end(), first, first + limits_.snapshot_pages);
  }
  restores_.clear();
  restore_pages_.clear();
}

void StateKeeper::forget_restore(const Sequence& sequence) {
  restored_ -=
      std::erase_if(restores_, [&](const Restore& one) { return one.sequence == &sequence; });
}

void StateKeeper::release_snapshots(Sequence& sequence) {
  forget_restore(sequence);
  for (const NewSnapshot& one : sequence.table.snapshots) pages_.nodes().snapshots().drop(one);
  sequence.table.snapshots.clear();
}

}  // namespace weft
