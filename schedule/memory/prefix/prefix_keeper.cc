#include "weft/schedule/memory/prefix/prefix_keeper.h"

#include <algorithm>

#include "weft/core/error/internal_error.h"

namespace weft {
PrefixKeeper::PrefixKeeper(const PlanClock& clock, const DeviceLimits& limits, PrefixCache& pages,
                           StateKeeper& states)
    : clock_(clock), limits_(limits), pages_(pages), states_(states) {
  if (!pages.keeps()) return;
  const auto rows = static_cast<std::size_t>(limits.rows);
  noted_.reserve(rows);
  offers_.reserve(rows);
  duplicates_.reserve(rows);
  offered_.reserve(rows + static_cast<std::size_t>(limits.pages_per_step()));
  scratch_.reserve(static_cast<std::size_t>(limits.page_tokens));
}

/// Valid until the next call.
std::span<const TokenId> PrefixKeeper::tokens_of(const Group& group, const Sequence& sequence,
                                                 std::int32_t first, std::int32_t count) const {
  const std::int32_t prompt = group.prompt_tokens();
  const auto part = [&](const std::vector<TokenId>& all, std::int32_t from) {
    return std::span(all).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count));
  };
  if (first + count <= prompt) return part(group.spec.prompt, first);
  if (first >= prompt) return part(sequence.outputs, first - prompt);
  scratch_.clear();
  for (std::int32_t i = 0; i < count; ++i) scratch_.push_back(group.token(sequence, first + i));
  return scratch_;
}

PageId PrefixKeeper::find_next(const Group& group, const Sequence& sequence, PageId parent,
                               std::int32_t index) {
  read_tail(parent);
  const std::int32_t size = limits_.page_tokens;
  return pages_.tree().find(group.prefix_scope, parent,
                            tokens_of(group, sequence, index * size, size));
}

PrefixTree::Beginning PrefixKeeper::find_beginning(const Group& group, const Sequence& sequence,
                                                   PageId parent, std::int32_t first,
                                                   std::int32_t count) {
  read_tail(parent);
  return pages_.tree().find_beginning(group.prefix_scope, parent,
                                      tokens_of(group, sequence, first, count));
}

/// Keeps the next page of a sequence without a tail, if its first `tokens` tokens fill it and
/// nobody else has filled one alike.
PrefixKeeper::Next PrefixKeeper::keep_next(const Group& group, Sequence& sequence,
                                           std::int32_t tokens, std::vector<PageId>* offered) {
  if (tokens < end_of_next(sequence)) return Next::kNone;
  const auto index = static_cast<std::size_t>(sequence.table.findable);
  if (index >= sequence.table.pages.size())
    return Next::kNone;  // a beam that has ended before others
  if (has_lost_its_path(sequence)) return Next::kNone;
  const PageId page = sequence.table.pages[index];
  const PageId parent = index == 0 ? kNoPage : sequence.table.pages[index - 1];
  make_room_behind(parent);
  // Those that forked have pages in common, which the first of them has kept.
  if (!pages_.is_kept(page)) {
    const std::int32_t size = limits_.page_tokens;
    const PageId kept =
        pages_.keep(group.prefix_scope, parent, page,
                    tokens_of(group, sequence, sequence.table.findable * size, size));
    if (kept != page) return Next::kDuplicate;
    if (offered != nullptr) {
      offered->push_back(page);
      pages_.mark_unsure(page);  // the plan that fills it may still change
    }
  }
  ++sequence.table.findable;
  return Next::kKept;
}

bool PrefixKeeper::has_lost_its_path(const Sequence& sequence) const {
  if (limits_.window == 0) return false;
  const auto index = static_cast<std::size_t>(sequence.table.findable);
  if (std::cmp_less(index, sequence.table.gone)) return true;
  if (index == 0) return false;
  return std::cmp_equal(index, sequence.table.gone) ||
         !pages_.is_kept(sequence.table.pages[index - 1]);
}

PrefixKeeper::PathBefore PrefixKeeper::path_before_window(const Sequence& sequence) const {
  if (sequence.table.gone == 0 || sequence.table.held().empty()) return {};
  const PageId first = sequence.table.held().front();
  if (!pages_.is_kept(first)) return {};
  const PageId last = pages_.tree().parent(first);
  // Who goes on from its last full page may need a page more than the sequence did.
  const std::int64_t needed =
      limits_.first_page_needed(std::int64_t{sequence.table.findable} * limits_.page_tokens);
  return {last, static_cast<std::int32_t>(std::max<std::int64_t>(sequence.table.gone - needed, 0))};
}

/// Takes the page that another has filled with the same tokens.
void PrefixKeeper::adopt_next(const Group& group, Sequence& sequence) {
  const auto index = static_cast<std::size_t>(sequence.table.findable);
  const PageId parent = index == 0 ? kNoPage : sequence.table.pages[index - 1];
  const PageId theirs = find_next(group, sequence, parent, sequence.table.findable);
  const PageId own = sequence.table.pages[index];
  pages_.share({&theirs, 1});
  sequence.table.pages[index] = theirs;
  sequence.table.resend_from(index);
  pages_.release({&own, 1});
  ++sequence.table.findable;
}

void PrefixKeeper::offer() {
  for (Group* const group : noted_) {
    // Those that share a prompt take others' pages into their tables together.
    for (Sequence& sequence : group->sequences) {
      if (sequence.progress.planned() >= end_of_next(sequence)) offer_pages(*group, sequence);
      states_.give(sequence);
    }
  }
}

void PrefixKeeper::offer_pages(Group& group, Sequence& sequence) {
  const std::int32_t before = sequence.table.findable;
  if (!may_have_tail(group))
    prefetch(sequence, before, sequence.progress.planned() / limits_.page_tokens);
  const std::int32_t tokens = sequence.progress.known_in_plans();
  const Next next = keep_more(group, sequence, tokens, &offered_);
  if (next == Next::kDuplicate) duplicates_.push_back({&group, &sequence});
  if (sequence.table.findable > before) offers_.push_back({&sequence, before});
}

/// Has the processor fetch what is needed to keep the pages `first` .. `end`-1 of the sequence.
void PrefixKeeper::prefetch(const Sequence& sequence, std::int32_t first,
                            std::int32_t end) const noexcept {
  if (!pages_.keeps()) return;
  const std::size_t last = std::min(static_cast<std::size_t>(end), sequence.table.pages.size());
  for (auto i = static_cast<std::size_t>(first); i < last; ++i) {
    if (sequence.table.pages[i] != kNoPage)
      pages_.tree().prefetch_to_insert(sequence.table.pages[i]);
  }
}

void PrefixKeeper::settle_offers() {
  if (clock_.newest() == clock_.making()) {
    keep_offers();
  } else {
    take_back_offers();
  }
}

void PrefixKeeper::keep_offers() {
  // Only now is it sure that nobody can be given the pages that become free in a plan that writes
  // to them.
  for (const Duplicate& one : duplicates_) {
    adopt_pages(*one.group, *one.sequence, one.sequence->progress.known_in_plans());
  }
  duplicates_.clear();
  std::erase_if(noted_, [](const Group* group) { return group->phase != GroupPhase::kPrompt; });
  offers_.clear();
  offered_.clear();
}

void PrefixKeeper::take_back_offers() {
  for (auto page = offered_.rbegin(); page != offered_.rend(); ++page) {
    if (!pages_.is_kept(*page)) continue;
    Sequence* const owner = pages_.tail_owner(*page).sequence;
    if (owner != nullptr) end_tail(*owner);
    pages_.take_back(*page);
  }
  for (const Offer& one : offers_) {
    const std::int32_t findable = std::min(one.sequence->table.findable, one.findable_before);
    if (one.sequence->table.tail_from > 0)
      pages_in_tails_ -= one.sequence->table.findable - findable;
    one.sequence->table.findable = findable;
  }
  duplicates_.clear();
  offers_.clear();
  offered_.clear();
}

void PrefixKeeper::keep_pages(Group& group, Sequence& sequence) {
  if (!covers(group)) return;
  const std::int32_t tokens = sequence.progress.known_in_plans();
  if (keep_more(group, sequence, tokens, nullptr) == Next::kDuplicate) note(group);
}

/// Makes findable what the sequence's first `tokens` tokens fill, until there is no more or a page
/// is another's already.
PrefixKeeper::Next PrefixKeeper::keep_more(Group& group, Sequence& sequence, std::int32_t tokens,
                                           std::vector<PageId>* offered) {
  while (sequence.table.tail_from == 0) {
    const Next next = keep_next(group, sequence, tokens, offered);
    if (next != Next::kKept) return next;
    if (may_have_tail(group)) begin_tail(group, sequence);
  }
  extend_tail(sequence, tokens / limits_.page_tokens);
  return Next::kNone;
}

void PrefixKeeper::adopt_pages(Group& group, Sequence& sequence, std::int32_t tokens) {
  while (keep_more(group, sequence, tokens, nullptr) == Next::kDuplicate) {
    adopt_next(group, sequence);
  }
}

void PrefixKeeper::add_to(PrefixStats& stats) const noexcept {
  stats.given_up = pages_.given_up();
  stats.pages = pages_.kept() + pages_in_tails_;
  stats.idle = pages_.idle();
  stats.hollow = pages_.hollow();
  stats.on_host = pages_.on_host();
  stats.went_out = pages_.went_out();
  stats.came_in = pages_.came_in();
  stats.snapshots = pages_.snapshots().size();
  stats.restored = states_.restored();
}

void PrefixKeeper::check(const Group& group, const Sequence& sequence) const {
  PageId parent = kNoPage;
  const std::int32_t in_tree =
      sequence.table.tail_from > 0 ? sequence.table.tail_from : sequence.table.findable;
  for (std::int32_t i = sequence.table.gone; i < in_tree; ++i) {
    const PageId page = sequence.table.pages.at(static_cast<std::size_t>(i));
    if (limits_.window > 0 && !pages_.is_kept(page)) return;  // its path is lost
    if (i > 0 && i == sequence.table.gone) parent = pages_.tree().parent(page);
    if (!pages_.is_kept(page) || pages_.tree().parent(page) != parent) {
      internal_error("a sequence's pages are no path in the tree of prefixes");
    }
    const std::int32_t size = limits_.page_tokens;
    if (!std::ranges::equal(pages_.tree().tokens(page),
                            tokens_of(group, sequence, i * size, size))) {
      internal_error("a sequence has a page of other tokens");
    }
    if (i == 0 && pages_.tree().scope(page) != group.prefix_scope) {
      internal_error("a sequence has a page that another may not share with it");
    }
    parent = page;
  }
  if (sequence.table.tail_from == 0) return;
  if (pages_.tail_owner(parent).sequence != &sequence || !pages_.tree().has_tail(parent)) {
    internal_error("a sequence's tail hangs at no page");
  }
  for (std::int32_t i = in_tree; i < sequence.table.findable; ++i) {
    if (pages_.references(sequence.table.pages.at(static_cast<std::size_t>(i))) != 1) {
      internal_error("a page of a sequence's tail is another's as well");
    }
  }
}

}  // namespace weft
