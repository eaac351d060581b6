// What PrefixKeeper does with the tails of sequences.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "weft/schedule/memory/prefix/prefix_keeper.h"

namespace weft {

/// The last findable page of the sequence is the head of its tail, if nothing is behind it yet.
void PrefixKeeper::begin_tail(Group& group, Sequence& sequence) {
  const auto index = static_cast<std::size_t>(sequence.table.findable);
  const PageId head = sequence.table.pages[index - 1];
  if (pages_.tree().has_children(head)) return;
  pages_.begin_tail(head, {&group, &sequence});
  sequence.table.tail_from = sequence.table.findable;
}

/// The sequence's findable pages are those that are in the tree, or whoever calls sees to it.
void PrefixKeeper::end_tail(Sequence& sequence) {
  const auto index = static_cast<std::size_t>(sequence.table.tail_from);
  const PageId head = sequence.table.pages[index - 1];
  pages_.end_tail(head);
  pages_in_tails_ -= sequence.table.findable - sequence.table.tail_from;
  sequence.table.findable = std::exchange(sequence.table.tail_from, 0);
}

void PrefixKeeper::extend_tail(Sequence& sequence, std::int32_t findable) {
  const std::int32_t more = findable - sequence.table.findable;
  if (more <= 0) return;
  pages_in_tails_ += more;
  sequence.table.findable = findable;
}

/// How many tokens of the sequence are written for sure: a result says so, or their pages are
/// findable, which plans before the one in the making write.
std::int32_t PrefixKeeper::written(const Sequence& sequence) const noexcept {
  return std::max(sequence.table.findable * limits_.page_tokens, sequence.progress.verified());
}

/// What the plan in the making offers of the sequence; null: nothing.
const PrefixKeeper::Offer* PrefixKeeper::offer_of(const Sequence& sequence) const noexcept {
  const auto offer = std::ranges::find(offers_, &sequence, &Offer::sequence);
  return offer == offers_.end() ? nullptr : &*offer;
}

/// Puts the tail behind a page into the tree, if it has one: somebody is about to look there.
void PrefixKeeper::read_tail(PageId head) {
  if (head == kNoPage || !pages_.tree().has_tail(head)) return;
  const TailOwner owner = pages_.tail_owner(head);
  if (owner.sequence == nullptr) return pages_.read_tail(head);
  read_own_tail(*owner.group, *owner.sequence);
}

/// The page is about to be continued by another than the one whose tail hangs there.
void PrefixKeeper::make_room_behind(PageId page) {
  read_tail(page);
  if (page != kNoPage && pages_.tree().has_tail(page)) {
    end_tail(*pages_.tail_owner(page).sequence);
  }
}

/// Puts a running sequence's tail into the tree, as far as it is written; what is written later is
/// a tail behind that.
void PrefixKeeper::read_own_tail(Group& group, Sequence& sequence) {
  const std::int32_t end = written(sequence);
  if (end < (sequence.table.tail_from + 1) * limits_.page_tokens) return;
  const Offer* const offer = offer_of(sequence);
  const std::int32_t sure = offer == nullptr ? end : offer->findable_before * limits_.page_tokens;
  end_tail(sequence);
  // Nobody else can have put a page there.
  Next next = keep_next(group, sequence, sure, nullptr);
  while (next == Next::kKept) next = keep_next(group, sequence, sure, nullptr);
  next = keep_next(group, sequence, end, &offered_);
  while (next == Next::kKept) next = keep_next(group, sequence, end, &offered_);
  begin_tail(group, sequence);
}

void PrefixKeeper::leave(Group& group, Sequence& sequence) {
  if (!may_have_tail(group) || !covers(group) || sequence.table.pages.empty()) return;
  if (sequence.table.tail_from > 0) {
    pages_.prefetch_to_leave(
        sequence.table.pages[static_cast<std::size_t>(sequence.table.tail_from) - 1]);
  }
  // The plan before the one in the making may change yet what it writes.
  const bool is_in_doubt = offer_of(sequence) != nullptr;
  if (!is_in_doubt) adopt_pages(group, sequence, written(sequence));
  if (sequence.table.tail_from == 0) return;
  const auto first = static_cast<std::size_t>(sequence.table.tail_from);
  const PageId head = sequence.table.pages[first - 1];
  const auto count = static_cast<std::size_t>(sequence.table.findable) - first;
  if (count > 0 && !is_in_doubt && pages_.references(head) == 1) {
    leave_tail(group, sequence, count);
    return;
  }
  read_own_tail(group, sequence);
  end_tail(sequence);
}

/// The sequence has the head of its tail alone, and is about to leave that as well.
void PrefixKeeper::leave_tail(const Group& group, Sequence& sequence, std::size_t count) {
  const auto first = static_cast<std::size_t>(sequence.table.tail_from);
  const PageId head = sequence.table.pages[first - 1];
  const std::int32_t size = limits_.page_tokens;
  const auto tokens = [&](std::size_t i) {
    return tokens_of(group, sequence, static_cast<std::int32_t>(first + i) * size, size);
  };
  pages_.leave_tail(head, std::span(sequence.table.pages).subspan(first, count), tokens);
  pages_in_tails_ -= static_cast<std::int32_t>(count);
  sequence.table.findable = std::exchange(sequence.table.tail_from, 0);
  const auto begin = sequence.table.pages.begin() + static_cast<std::ptrdiff_t>(first);
  sequence.table.pages.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
}

}  // namespace weft
