#include "weft/schedule/memory/prefix/prefix_finder.h"

#include <algorithm>
#include <cstddef>

#include "weft/schedule/memory/prefix/window_path.h"

namespace weft {
namespace {

/// A page is copied for at least this part of its tokens: a copy costs a GPU some synchronising,
/// and prompts of any kind begin with the same token or two.
constexpr std::int32_t kLeastPartCopied = 4;

}  // namespace

PrefixFinder::PrefixFinder(const PlanClock& clock, const DeviceLimits& limits, PrefixCache& pages,
                           PrefixKeeper& keeper, StateKeeper& states, std::vector<PlanCopy>& copies)
    : clock_(clock),
      limits_(limits),
      pages_(pages),
      keeper_(keeper),
      states_(states),
      copies_(copies) {
  if (pages.keeps()) found_.reserve(static_cast<std::size_t>(limits.pages_per_row()));
}

/// Finds the longest path of full pages with the first `most` tokens that a sequence can go on
/// from: of its last pages, which the window at its end reaches, none is hollow, and its last node
/// has a snapshot where rows have state. Valid until the next call.
PrefixFinder::Match PrefixFinder::match(const Group& group, const Sequence& sequence,
                                        std::int32_t most) {
  found_.clear();
  WindowPath anywhere(limits_);
  WindowPath here(limits_);
  PageId node = kNoPage;
  const bool has_state = limits_.has_state();  // asked of each page otherwise
  const std::int32_t whole = most / limits_.page_tokens;
  for (std::int32_t page = 0; page < whole; ++page) {
    node = keeper_.find_next(group, sequence, node, page);
    if (node == kNoPage) break;
    found_.push_back(node);
    anywhere.add(!pages_.tiers().is_hollow(node), !has_state || states_.can_restore(node));
    here.add(pages_.tiers().is_here(node), !has_state || states_.can_restore_here(node));
  }
  const auto all = static_cast<std::size_t>(anywhere.end());
  return {std::span<const PageId>(found_).first(all), here.end()};
}

std::int32_t PrefixFinder::take(Group& group, Sequence& sequence, std::int32_t most) {
  if (!keeper_.covers(group)) return 0;
  keeper_.begin(group);
  if (!group.spec.may_skip_tokens()) return 0;
  const std::uint64_t came_in = pages_.tiers().host.fetched();
  const Match found = match(group, sequence, most);
  if (!copying_is_sooner(found) || !take_path(sequence, found.path)) {
    // Of what was to come some may have.
    const Match left = match(group, sequence, most);
    (void)take_path(sequence, left.path.first(static_cast<std::size_t>(left.here)));
  }
  if (pages_.tiers().host.fetched() > came_in) sequence.table.arrives_in = clock_.making();
  sequence.table.findable = static_cast<std::int32_t>(sequence.table.pages.size());
  std::int32_t tokens = sequence.table.findable * limits_.page_tokens;
  tokens += copy_beginning(group, sequence, most);
  ++lookups_;
  looked_up_ += static_cast<std::uint64_t>(most + 1);
  hits_ += tokens > 0 ? 1 : 0;
  found_tokens_ += static_cast<std::uint64_t>(tokens);
  return tokens;
}

/// Whether what the path has in host memory is there sooner than what is computed without it.
bool PrefixFinder::copying_is_sooner(const Match& match) const {
  const auto pages = static_cast<std::int32_t>(match.path.size());
  if (costs_ == nullptr || pages == match.here) return true;
  const auto needed =
      match.path.subspan(static_cast<std::size_t>(WindowPath(limits_).first_needed(pages)));
  const auto copied = std::ranges::count_if(
                          needed, [this](PageId node) { return pages_.tiers().is_on_host(node); }) +
                      states_.pages_on_host(match.path.back());
  return costs_->copying_is_sooner(static_cast<std::int32_t>(copied),
                                   std::int64_t{match.here} * limits_.page_tokens,
                                   pages - match.here);
}

/// Gives the sequence the pages of a path; those before the window are left alone. False where
/// there is no room for what is in host memory: then it has none.
bool PrefixFinder::take_path(Sequence& sequence, std::span<const PageId> path) {
  const auto gone = static_cast<std::size_t>(
      WindowPath(limits_).first_needed(static_cast<std::int32_t>(path.size())));
  const auto is_hollow = [this](PageId node) { return pages_.tiers().is_hollow(node); };
  const bool has_lost_some = std::ranges::any_of(path.first(gone), is_hollow);
  if (gone > 0) pages_.nodes().leave_path(path[gone - 1], 0);
  sequence.table.pages.assign(gone, kNoPage);
  sequence.table.pages.insert(sequence.table.pages.end(),
                              path.begin() + static_cast<std::ptrdiff_t>(gone), path.end());
  // Before any page can be given up for those that are copied.
  if (!path.empty()) states_.restore(sequence, path.back());
  if (!pages_.share_path(std::span(sequence.table.pages).subspan(gone))) {
    states_.release(sequence);
    sequence.table.pages.clear();
    return false;
  }
  sequence.table.gone = static_cast<std::int32_t>(gone);
  hollow_hits_ += has_lost_some ? 1 : 0;
  return true;
}

/// Copies the page that begins like the tokens behind the sequence's pages, if it is worth it, and
/// returns how many of these it has.
std::int32_t PrefixFinder::copy_beginning(const Group& group, Sequence& sequence,
                                          std::int32_t most) {
  if (limits_.has_state()) return 0;
  const std::int32_t first = sequence.table.findable * limits_.page_tokens;
  const std::int32_t count = std::min(most - first, limits_.page_tokens);
  if (count * kLeastPartCopied < limits_.page_tokens) return 0;
  const PageId parent = sequence.table.pages.empty() ? kNoPage : sequence.table.pages.back();
  const PrefixTree::Beginning best = keeper_.find_beginning(group, sequence, parent, first, count);
  if (best.tokens * kLeastPartCopied < limits_.page_tokens) return 0;
  if (!pages_.tiers().is_here(best.page)) return 0;
  // Held meanwhile, so that it is not given up for its own copy. Later its room may be another's,
  // whose tokens are written after the copy.
  pages_.share({&best.page, 1});
  const bool copied = pages_.take(1, sequence.table.pages);
  if (copied) copies_.push_back({best.page, sequence.table.pages.back()});
  pages_.release({&best.page, 1});
  return copied ? best.tokens : 0;
}

std::vector<PageId> PrefixFinder::path(const Group& group, const Sequence& sequence,
                                       std::int32_t most) {
  (void)match(group, sequence, most);
  return found_;
}

std::int32_t PrefixFinder::count(const Group& group, const Sequence& sequence, std::int32_t most) {
  return static_cast<std::int32_t>(match(group, sequence, most).path.size());
}

std::int32_t PrefixFinder::count_in_use(const Group& group, const Sequence& sequence,
                                        std::int32_t most) {
  if (!keeper_.covers(group) || !group.spec.may_skip_tokens()) return 0;
  if (pages_.nodes().kept() == pages_.tiers().device.idle()) return 0;
  const auto is_in_use = [this](PageId page) {
    return pages_.tiers().is_here(page) && pages_.references(page) > 0;
  };
  return static_cast<std::int32_t>(
      std::ranges::count_if(match(group, sequence, most).path, is_in_use));
}

void PrefixFinder::add_to(PrefixStats& stats) const noexcept {
  stats.lookups = lookups_;
  stats.hits = hits_;
  stats.looked_up = looked_up_;
  stats.found = found_tokens_;
  stats.hollow_hits = hollow_hits_;
}

}  // namespace weft
