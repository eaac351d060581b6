#include "weft/schedule/memory/prefix/running_tails.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

void RunningTails::begin(Group& group, Sequence& sequence) {
  const PageId head = paths_.before_next(sequence);
  if (pages_.nodes().tree().has_children(head)) return;
  tails().begin(head, {&group, &sequence});
  sequence.table.tail_from = sequence.table.findable;
}

void RunningTails::extend(Sequence& sequence, std::int32_t findable) {
  const std::int32_t more = findable - sequence.table.findable;
  if (more <= 0) return;
  count_ += more;
  sequence.table.findable = findable;
}

void RunningTails::shorten(Sequence& sequence, std::int32_t findable) {
  findable = std::min(sequence.table.findable, findable);
  if (sequence.table.tail_from > 0) count_ -= sequence.table.findable - findable;
  sequence.table.findable = findable;
}

void RunningTails::end(Sequence& sequence) {
  tails().end(head_of(sequence));
  count_ -= sequence.table.findable - sequence.table.tail_from;
  sequence.table.findable = std::exchange(sequence.table.tail_from, 0);
}

void RunningTails::end_at(PageId head) {
  Sequence* const owner = tails().owner(head).sequence;
  if (owner != nullptr) end(*owner);
}

void RunningTails::read_tail(PageId head) {
  const TailOwner owner = tails().owner(head);
  if (owner.sequence == nullptr) return pages_.nodes().tiers().device.read_tail(head);
  read_own(*owner.group, *owner.sequence);
}

void RunningTails::make_room_behind(PageId page) {
  read(page);
  if (page != kNoPage && tails().has(page)) end(*tails().owner(page).sequence);
}

std::int32_t RunningTails::written(const Sequence& sequence) const noexcept {
  return std::max(sequence.table.findable * page_tokens_, sequence.progress.verified());
}

/// Puts a running sequence's tail into the tree, as far as it is written; what is written later is
/// a tail behind that.
void RunningTails::read_own(Group& group, Sequence& sequence) {
  const std::int32_t end_of_tail = written(sequence);
  if (end_of_tail < (sequence.table.tail_from + 1) * page_tokens_) return;
  const PageOffers::Offer* const offer = offers_.of(sequence);
  const std::int32_t sure = offer == nullptr ? end_of_tail : offer->findable_before * page_tokens_;
  end(sequence);
  // Nobody else can have put a page there.
  const auto keep = [&](std::int32_t tokens, PageOffers* offers) {
    while (paths_.has_next(sequence, tokens) && paths_.keep_next(group, sequence, offers)) {
    }
  };
  keep(sure, nullptr);
  keep(end_of_tail, &offers_);
  begin(group, sequence);
}

void RunningTails::prefetch_to_leave(const Sequence& sequence) const noexcept {
  if (sequence.table.tail_from > 0) tails().prefetch_to_leave(head_of(sequence));
}

void RunningTails::leave(Group& group, Sequence& sequence) {
  const bool is_empty = sequence.table.findable == sequence.table.tail_from;
  // The plan before the one in the making may change yet what it writes.
  const bool is_in_doubt = offers_.of(sequence) != nullptr;
  if (!is_empty && !is_in_doubt && pages_.references(head_of(sequence)) == 1) {
    leave_idle(group, sequence);
    return;
  }
  read_own(group, sequence);
  end(sequence);
}

/// The sequence has the head of its tail alone, and is about to leave that as well.
void RunningTails::leave_idle(const Group& group, Sequence& sequence) {
  const std::int32_t first = sequence.table.tail_from;
  const std::int32_t count = sequence.table.findable - first;
  const auto tokens = [&](std::size_t i) {
    return paths_.page_tokens(group, sequence, first + static_cast<std::int32_t>(i));
  };
  tails().leave(head_of(sequence),
                std::span(sequence.table.pages)
                    .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                tokens);
  count_ -= count;
  sequence.table.findable = std::exchange(sequence.table.tail_from, 0);
  const auto begin = sequence.table.pages.begin() + first;
  sequence.table.pages.erase(begin, begin + count);
}

void RunningTails::check(const Sequence& sequence) const {
  if (sequence.table.tail_from == 0) return;
  const PageId head = head_of(sequence);
  if (tails().owner(head).sequence != &sequence || !tails().has(head)) {
    internal_error("a sequence's tail hangs at no page");
  }
  for (std::int32_t i = sequence.table.tail_from; i < sequence.table.findable; ++i) {
    if (pages_.references(sequence.table.pages.at(static_cast<std::size_t>(i))) != 1) {
      internal_error("a page of a sequence's tail is another's as well");
    }
  }
}

}  // namespace weft
