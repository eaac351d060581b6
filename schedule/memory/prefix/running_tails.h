#pragma once

#include <cstdint>

#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/memory/prefix/page_offers.h"
#include "weft/schedule/memory/prefix/prefix_cache.h"
#include "weft/schedule/memory/prefix/sequence_path.h"

namespace weft {

/// Tails of running sequences: pages behind a sequence's path in the tree, from
/// `PageTable::tail_from` to `PageTable::findable`, which are findable without a node. When
/// somebody looks behind the path, the tail is put into the tree as far as it is written (read). At
/// its end a sequence leaves its tail as it is, and the tail is idle then (PageTails::leave).
///
/// Only groups of one sequence have tails, and where pages go to host memory or files there are
/// none.
///
/// Owner only; a part of PrefixKeeper. It allocates nothing.
class RunningTails {
 public:
  /// All of them outlive it.
  RunningTails(const DeviceLimits& limits, PrefixCache& pages, SequencePath& paths,
               PageOffers& offers)
      : page_tokens_(limits.page_tokens), pages_(pages), paths_(paths), offers_(offers) {}

  /// Whether the group's pages may be a tail.
  [[nodiscard]] bool covers(const Group& group) const noexcept {
    return pages_.has_tails() && group.spec.sequences == 1;
  }
  /// Pages of tails that are findable.
  [[nodiscard]] std::int32_t pages() const noexcept { return count_; }

  /// The sequence's last findable page is the head of its tail, if nothing is behind it yet.
  void begin(Group& group, Sequence& sequence);
  /// The sequence's first `findable` pages are findable: those behind its path are its tail.
  void extend(Sequence& sequence, std::int32_t findable);
  /// Fewer of its pages are findable, whether it has a tail or not.
  void shorten(Sequence& sequence, std::int32_t findable);
  /// The sequence has no tail any more. Its path is what is in the tree, or the caller sees to it.
  void end(Sequence& sequence);
  /// The same of the sequence whose tail hangs at this page, if there is one.
  void end_at(PageId head);

  /// Puts the tail behind a page into the tree, if it has one: somebody is about to look there.
  void read(PageId head) {
    // Asked of each page that a look-up comes to, so without a call where nothing is to be done.
    if (head != kNoPage && pages_.nodes().tree().has_tail(head)) read_tail(head);
  }
  /// The page is about to be continued by another than the one whose tail hangs there.
  void make_room_behind(PageId page);

  /// How many tokens of the sequence are written for sure: a result says so, or their pages are
  /// findable, which plans before the one in the making write.
  [[nodiscard]] std::int32_t written(const Sequence& sequence) const noexcept;
  /// Has the processor fetch what it takes to leave the sequence's tail soon.
  void prefetch_to_leave(const Sequence& sequence) const noexcept;
  /// The sequence, which has a tail, is about to release its pages. Pages that are left as an idle
  /// tail are not in its table any more.
  void leave(Group& group, Sequence& sequence);

  /// Checks that the tail hangs at the end of the sequence's path, and that its pages are nobody
  /// else's; internal_error where not. For tests.
  void check(const Sequence& sequence) const;

 private:
  /// The page of the tree that the sequence's tail hangs at.
  [[nodiscard]] static PageId head_of(const Sequence& sequence) {
    return sequence.table.pages[static_cast<std::size_t>(sequence.table.tail_from) - 1];
  }
  [[nodiscard]] PageTails& tails() noexcept { return pages_.nodes().tiers().device.tails(); }
  [[nodiscard]] const PageTails& tails() const noexcept { return pages_.tiers().device.tails(); }
  void read_tail(PageId head);
  void read_own(Group& group, Sequence& sequence);
  void leave_idle(const Group& group, Sequence& sequence);

  const std::int32_t page_tokens_;
  PrefixCache& pages_;
  SequencePath& paths_;
  PageOffers& offers_;
  std::int32_t count_ = 0;
};

}  // namespace weft
