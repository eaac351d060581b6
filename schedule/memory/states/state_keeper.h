#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/gpu/plan.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/prefix/prefix_cache.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// Has plans keep rows' states (DeviceLimits::state_bytes) as snapshots, and restore them. A prefix
/// is used again only up to a node with a snapshot, because a state cannot be computed from pages.
///
/// Snapshots are made where pages end: at the last page end before a prompt's last token, where who
/// goes on from the prompt or asks the same again begins, and each DeviceLimits::snapshot_every
/// pages. cut() makes chunks end there. begin() takes the pages of a snapshot when the chunk has
/// its own, and write() lets the plan make it. Until a node has the snapshot it is in the
/// sequence's `PageTable::snapshots`. No group gives way for a snapshot, and its pages count as
/// free: so it may be lost at any time, and a plan that is amended is looked through for those
/// (is_made).
///
/// A node gets the snapshot once nothing changes the plan that makes it any more (give).
///
/// A restore is decided with the pages of the path (restore), and is written into the plan among
/// the copies of pages. So it means the same whatever becomes of the snapshot's pages meanwhile.
///
/// Owner only; a part of KvMemory. Without state, or where no pages are kept, it does nothing. It
/// allocates in the constructor.
class StateKeeper {
 public:
  /// Copies that are in no plan yet are in `copies`. All of them outlive it.
  StateKeeper(const PlanClock& clock, const DeviceLimits& limits, PrefixCache& pages,
              const std::vector<PlanCopy>& copies);

  /// New snapshots of one sequence, at most: in each stage's tick one, and one that is being made.
  [[nodiscard]] static std::size_t most_new(const DeviceLimits& limits) noexcept {
    return limits.has_state() ? static_cast<std::size_t>(limits.stages) + 2 : 0;
  }

  /// Of the next `chunk` tokens of a sequence, those up to the next place of a snapshot.
  [[nodiscard]] std::int32_t cut(const Group& group, const Sequence& sequence,
                                 std::int32_t chunk) const;
  /// The sequence has the pages for its chunk. Takes those of a snapshot, if one is to be made
  /// where the chunk ends and there is room.
  void begin(const Group& group, Sequence& sequence) {
    if (covers(group)) begin_snapshot(group, sequence);
  }
  /// The plan has the sequence's entry, behind which it makes the snapshot that was begun.
  void write(Plan& plan, const Sequence& sequence) const {
    if (limits_.has_state()) write_snapshot(plan, sequence);
  }
  /// Whether the snapshot of the newest plan, which is being amended, is still the sequence's.
  [[nodiscard]] bool is_made(const Plan& plan, const PlanSnapshot& snapshot,
                             const Sequence& sequence) const;
  /// The plan in the making does not feed the sequence after all.
  void take_back(Sequence& sequence);
  /// Gives the nodes of the sequence's path the new snapshots that are sure.
  void give(Sequence& sequence) {
    if (limits_.has_state()) give_snapshots(sequence);
  }

  /// Whether a sequence can go on behind the node as far as its state is concerned: the node has a
  /// snapshot, or rows have no state.
  [[nodiscard]] bool can_restore(PageId node) const noexcept {
    return !limits_.has_state() || pages_.nodes().snapshots().of(node) != StateSnapshots::kNone;
  }
  /// The same, if what is in host memory is left there.
  [[nodiscard]] bool can_restore_here(PageId node) const noexcept {
    return !limits_.has_state() || (can_restore(node) && pages_on_host(node) == 0);
  }
  /// The pages of the node's snapshot that are in host memory.
  [[nodiscard]] std::int32_t pages_on_host(PageId node) const noexcept;
  /// The sequence begins with the node's snapshot, if rows have state.
  void restore(const Sequence& sequence, PageId node);
  /// Appends the restores that were decided since the last call, before the copies are appended
  /// among which they stand.
  void write_restores(Plan& plan);

  /// The sequence gives back what it has: its restore that is in no plan, its new snapshots.
  void release(Sequence& sequence) {
    if (limits_.has_state()) release_snapshots(sequence);
  }

  /// How many sequences began with a snapshot.
  [[nodiscard]] std::uint64_t restored() const noexcept { return restored_; }

 private:
  struct Restore {
    const Sequence* sequence = nullptr;
    std::size_t after_copies = 0;
    std::size_t first_page = 0;  // in restore_pages_
  };

  [[nodiscard]] bool covers(const Group& group) const noexcept {
    return limits_.has_state() && pages_.keeps() && group.spec.encoder_input.empty();
  }
  void begin_snapshot(const Group& group, Sequence& sequence);
  void write_snapshot(Plan& plan, const Sequence& sequence) const;
  void give_snapshots(Sequence& sequence);
  void release_snapshots(Sequence& sequence);
  [[nodiscard]] std::int64_t next_place(const Group& group, const Sequence& sequence) const;
  [[nodiscard]] bool is_settled(Sequence& sequence, const NewSnapshot& one);
  void forget_restore(const Sequence& sequence);

  const PlanClock& clock_;
  const DeviceLimits limits_;
  PrefixCache& pages_;
  const std::vector<PlanCopy>& copies_;
  std::vector<PageId> new_pages_;  // of the snapshot that is being begun
  std::vector<Restore> restores_;
  std::vector<PageId> restore_pages_;
  std::uint64_t restored_ = 0;
};

}  // namespace weft
