#include "weft/schedule/memory/prefix/sequence_path.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

SequencePath::SequencePath(const DeviceLimits& limits, PrefixCache& pages)
    : limits_(limits), pages_(pages) {
  if (pages.keeps()) scratch_.reserve(static_cast<std::size_t>(limits.page_tokens));
}

std::span<const TokenId> SequencePath::tokens(const Group& group, const Sequence& sequence,
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

bool SequencePath::is_lost(const Sequence& sequence) const {
  if (limits_.window == 0) return false;
  const std::int32_t index = sequence.table.findable;
  if (index < sequence.table.gone) return true;
  if (index == 0) return false;
  return index == sequence.table.gone || !pages_.nodes().is_kept(before_next(sequence));
}

SequencePath::Before SequencePath::before_window(const Sequence& sequence) const {
  if (sequence.table.gone == 0 || sequence.table.held().empty()) return {};
  const PageId first = sequence.table.held().front();
  if (!pages_.nodes().is_kept(first)) return {};
  const PageId last = pages_.nodes().tree().parent(first);
  // Who goes on from its last full page may need a page more than the sequence did.
  const std::int64_t needed =
      limits_.first_page_needed(std::int64_t{sequence.table.findable} * limits_.page_tokens);
  return {last, static_cast<std::int32_t>(std::max<std::int64_t>(sequence.table.gone - needed, 0))};
}

bool SequencePath::has_next(const Sequence& sequence, std::int32_t tokens) const {
  if (tokens < end_of_next(sequence)) return false;
  // A beam that has ended before others has fewer.
  if (std::cmp_greater_equal(sequence.table.findable, sequence.table.pages.size())) return false;
  return !is_lost(sequence);
}

bool SequencePath::keep_next(const Group& group, Sequence& sequence, PageOffers* offers) {
  const PageId page = sequence.table.pages[static_cast<std::size_t>(sequence.table.findable)];
  // Those that forked have pages in common, which the first of them has kept.
  if (!pages_.nodes().is_kept(page)) {
    const PageId kept = pages_.nodes().keep(group.prefix_scope, before_next(sequence), page,
                                            page_tokens(group, sequence, sequence.table.findable));
    if (kept != page) return false;
    if (offers != nullptr) {
      offers->add_page(page);
      pages_.nodes().mark_unsure(page);  // the plan that fills it may still change
    }
  }
  ++sequence.table.findable;
  return true;
}

void SequencePath::adopt_next(const Group& group, Sequence& sequence) {
  const auto index = static_cast<std::size_t>(sequence.table.findable);
  const PageId theirs =
      pages_.nodes().tree().find(group.prefix_scope, before_next(sequence),
                                 page_tokens(group, sequence, sequence.table.findable));
  const PageId own = sequence.table.pages[index];
  pages_.share({&theirs, 1});
  sequence.table.pages[index] = theirs;
  sequence.table.resend_from(index);
  pages_.release({&own, 1});
  ++sequence.table.findable;
}

void SequencePath::prefetch(const Sequence& sequence, std::int32_t first,
                            std::int32_t end) const noexcept {
  if (!pages_.keeps()) return;
  const std::size_t last = std::min(static_cast<std::size_t>(end), sequence.table.pages.size());
  for (auto i = static_cast<std::size_t>(first); i < last; ++i) {
    if (sequence.table.pages[i] != kNoPage)
      pages_.nodes().tree().prefetch_to_insert(sequence.table.pages[i]);
  }
}

void SequencePath::check(const Group& group, const Sequence& sequence) const {
  const PrefixTree& tree = pages_.nodes().tree();
  const PageTable& table = sequence.table;
  const std::int32_t end = table.tail_from > 0 ? table.tail_from : table.findable;
  PageId parent = kNoPage;
  for (std::int32_t i = table.gone; i < end; ++i) {
    const PageId page = table.pages.at(static_cast<std::size_t>(i));
    const bool is_kept = pages_.nodes().is_kept(page);
    if (limits_.window > 0 && !is_kept) return;  // its path is lost
    if (i > 0 && i == table.gone) parent = tree.parent(page);
    if (!is_kept || tree.parent(page) != parent) {
      internal_error("a sequence's pages are no path in the tree of prefixes");
    }
    check_page(group, sequence, i);
    parent = page;
  }
}

void SequencePath::check_page(const Group& group, const Sequence& sequence,
                              std::int32_t index) const {
  const PrefixTree& tree = pages_.nodes().tree();
  const PageId page = sequence.table.pages[static_cast<std::size_t>(index)];
  if (!std::ranges::equal(tree.tokens(page), page_tokens(group, sequence, index))) {
    internal_error("a sequence has a page of other tokens");
  }
  if (index == 0 && tree.scope(page) != group.prefix_scope) {
    internal_error("a sequence has a page that another may not share with it");
  }
}

}  // namespace weft
