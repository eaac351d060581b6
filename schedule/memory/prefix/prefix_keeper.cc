#include "weft/schedule/memory/prefix/prefix_keeper.h"

#include <ranges>

namespace weft {

PrefixKeeper::PrefixKeeper(const PlanClock& clock, const DeviceLimits& limits, PrefixCache& pages,
                           StateKeeper& states)
    : clock_(clock),
      page_tokens_(limits.page_tokens),
      pages_(pages),
      states_(states),
      paths_(limits, pages),
      offers_(limits, pages.keeps()),
      tails_(limits, pages, paths_, offers_) {
  if (!pages.keeps()) return;
  noted_.reserve(static_cast<std::size_t>(limits.rows));
  duplicates_.reserve(static_cast<std::size_t>(limits.rows));
}

PageId PrefixKeeper::find_next(const Group& group, const Sequence& sequence, PageId parent,
                               std::int32_t index) {
  tails_.read(parent);
  return pages_.nodes().tree().find(group.prefix_scope, parent,
                                    paths_.page_tokens(group, sequence, index));
}

PrefixTree::Beginning PrefixKeeper::find_beginning(const Group& group, const Sequence& sequence,
                                                   PageId parent, std::int32_t first,
                                                   std::int32_t count) {
  tails_.read(parent);
  return pages_.nodes().tree().find_beginning(group.prefix_scope, parent,
                                              paths_.tokens(group, sequence, first, count));
}

/// Makes findable what the sequence's first `tokens` tokens fill. Returns false where the next page
/// is another's already, which the sequence can adopt.
bool PrefixKeeper::keep_more(Group& group, Sequence& sequence, std::int32_t tokens,
                             PageOffers* offers) {
  while (sequence.table.tail_from == 0) {
    if (!paths_.has_next(sequence, tokens)) return true;
    tails_.make_room_behind(paths_.before_next(sequence));
    if (!paths_.keep_next(group, sequence, offers)) return false;
    if (tails_.covers(group)) tails_.begin(group, sequence);
  }
  tails_.extend(sequence, tokens / page_tokens_);
  return true;
}

void PrefixKeeper::keep_pages(Group& group, Sequence& sequence) {
  if (!covers(group)) return;
  if (!keep_more(group, sequence, sequence.progress.known_in_plans(), nullptr)) note(group);
}

void PrefixKeeper::adopt_pages(Group& group, Sequence& sequence, std::int32_t tokens) {
  while (!keep_more(group, sequence, tokens, nullptr)) paths_.adopt_next(group, sequence);
}

void PrefixKeeper::offer() {
  for (Group* const group : noted_) {
    // Those that share a prompt take others' pages into their tables together.
    for (Sequence& sequence : group->sequences) {
      if (sequence.progress.planned() >= paths_.end_of_next(sequence)) {
        offer_pages(*group, sequence);
      }
      states_.give(sequence);
    }
  }
}

void PrefixKeeper::offer_pages(Group& group, Sequence& sequence) {
  const std::int32_t before = sequence.table.findable;
  if (!tails_.covers(group))
    paths_.prefetch(sequence, before, sequence.progress.planned() / page_tokens_);
  const std::int32_t tokens = sequence.progress.known_in_plans();
  if (!keep_more(group, sequence, tokens, &offers_)) duplicates_.push_back({&group, &sequence});
  if (sequence.table.findable > before) offers_.add(sequence, before);
}

void PrefixKeeper::settle_offers() {
  if (clock_.newest() == clock_.making()) {
    keep_offers();
  } else {
    take_back_offers();
  }
  duplicates_.clear();
  offers_.clear();
}

void PrefixKeeper::keep_offers() {
  // Only now is it sure that nobody can be given the pages that become free in a plan that writes
  // to them.
  for (const Duplicate& one : duplicates_) {
    adopt_pages(*one.group, *one.sequence, one.sequence->progress.known_in_plans());
  }
  std::erase_if(noted_, [](const Group* group) { return group->phase != GroupPhase::kPrompt; });
}

void PrefixKeeper::take_back_offers() {
  for (const PageId page : std::views::reverse(offers_.pages())) {
    if (!pages_.nodes().is_kept(page)) continue;
    tails_.end_at(page);
    pages_.nodes().take_back(page);
  }
  for (const PageOffers::Offer& one : offers_.all()) {
    tails_.shorten(*one.sequence, one.findable_before);
  }
}

void PrefixKeeper::leave(Group& group, Sequence& sequence) {
  if (!tails_.covers(group) || !covers(group) || sequence.table.pages.empty()) return;
  tails_.prefetch_to_leave(sequence);
  // What the plan before the one in the making writes may change yet.
  if (offers_.of(sequence) == nullptr) adopt_pages(group, sequence, tails_.written(sequence));
  if (sequence.table.tail_from > 0) tails_.leave(group, sequence);
}

}  // namespace weft
