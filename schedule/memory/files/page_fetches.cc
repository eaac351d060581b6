#include "weft/schedule/memory/files/page_fetches.h"

#include <algorithm>
#include <span>
#include <utility>

#include "weft/schedule/memory/prefix/window_path.h"

namespace weft {
namespace {

/// As many tokens as it would take from the cache when it begins.
std::int32_t most_found(const Group& group) {
  const Sequence& leader = group.leader();
  return (group.alive == 1 ? leader.progress.known() : group.prompt_tokens()) - 1;
}

}  // namespace

PageFetches::PageFetches(const PlanClock& clock, PageSaver& saver, KvMemory& memory,
                         const StepTimeModel& times, const DeviceLimits& limits)
    : clock_(clock),
      saver_(saver),
      files_(saver.files()),
      pages_(memory.pages()),
      copies_(memory.copies()),
      path_(memory.pages().nodes()),
      keeper_(memory.prefixes()),
      finder_(memory.finder()),
      costs_(times, limits),
      limits_(limits) {
  fetches_.reserve(kMostFetches);
}

PageFetches::~PageFetches() { cancel_all(); }

bool PageFetches::delay(Group& waiting) {
  if (waits(waiting)) return true;
  if (waiting.looked_in_files || !keeper_.covers(waiting)) return false;
  if (!waiting.spec.may_skip_tokens()) return false;
  if (follow(waiting)) return true;
  if (fetches_.size() >= kMostFetches) return false;
  waiting.looked_in_files = true;
  return start(waiting);
}

/// Whether the group waits for a read, its own or another's.
bool PageFetches::waits(const Group& group) const noexcept {
  const auto is_it = [&group](const Waiting& one) {
    return one.group == &group && one.order == group.order;
  };
  return std::ranges::any_of(fetches_, [&is_it](const Fetch& one) {
    return is_it(one.group) || std::ranges::any_of(one.followers, is_it);
  });
}

/// Lets the group wait for what is read for another, if it finds more of its prompt then and that
/// is sooner than computing it.
bool PageFetches::follow(const Group& group) {
  std::size_t followers = 0;
  for (const Fetch& one : fetches_) followers += one.followers.size();
  if (followers >= kMostFollowers) return false;
  for (Fetch& one : fetches_) {
    const std::int32_t pages = gains_by(one, group);
    if (pages == 0) continue;
    const std::int32_t there = finder_.count(group, group.leader(), most_found(group));
    // It is read already, as all that is queued.
    if (!costs_.copying_is_sooner(queued(), tokens_in(there), pages)) continue;
    one.followers.push_back({&group, group.order});
    return true;
  }
  return false;
}

/// How many pages more the group finds of its own prompt when the fetch is over.
std::int32_t PageFetches::gains_by(const Fetch& fetch, const Group& group) {
  if (fetch.scope != group.prefix_scope) return 0;
  const Sequence& leader = group.leader();
  const auto read_to = static_cast<std::int32_t>(tokens_in(fetch.at.back() + 1));
  const std::int32_t most = std::min(most_found(group), read_to);
  std::int32_t alike = 0;
  while (alike < most &&
         fetch.tokens[static_cast<std::size_t>(alike)] == group.token(leader, alike))
    ++alike;
  const std::vector<PageId> path = finder_.path(group, leader, alike);
  WindowPath found(limits_);
  for (std::int32_t page = 0; page < alike / limits_.page_tokens; ++page) {
    const auto index = static_cast<std::size_t>(page);
    found.add((index < path.size() && !pages_.tiers().is_hollow(path[index])) ||
              std::ranges::binary_search(fetch.at, page));
  }
  return std::max(found.end() - finder_.count(group, leader, most_found(group)), 0);
}

bool PageFetches::start(const Group& group) {
  const Sequence& leader = group.leader();
  const std::int32_t most = most_found(group);
  const std::int32_t there = finder_.count(group, leader, most);
  const std::int32_t whole = most / limits_.page_tokens;
  if (there == whole) return false;
  const std::vector<PageId> path = finder_.path(group, leader, most);
  Fetch fetch;
  fetch.group = {&group, group.order};
  fetch.scope = group.prefix_scope;
  const auto tokens = static_cast<std::int32_t>(tokens_in(whole));
  fetch.tokens.reserve(static_cast<std::size_t>(tokens));
  for (std::int32_t i = 0; i < tokens; ++i) fetch.tokens.push_back(group.token(leader, i));
  std::vector<PageKey> keys = choose(fetch, path, whole);
  const auto count = static_cast<std::int32_t>(keys.size());
  if (count == 0) return false;
  // What host memory has as well is faster there.
  const std::int32_t gains = fetch.at.back() + 1 - there;
  if (gains <= 0) return false;
  if (!costs_.copying_is_sooner(count + queued(), tokens_in(there), gains)) return false;
  if (!lend(fetch, path)) return false;
  // After another scheduler, ticks of its own may still run until one of this one has.
  fetch.after = std::max<std::uint64_t>(clock_.newest(), saver_.is_first() ? 0 : 1);
  fetch.copied_by = copies_.empty() ? 0 : clock_.writings() + 1;
  fetch.read = std::make_shared<PageRead>(std::move(keys), fetch.pages);
  read_if_ready(fetch);
  fetches_.push_back(std::move(fetch));
  return true;
}

/// Whether who finds the node has its page without a file. Where a page is on the device only with
/// all that lead to it, those in host memory are read together with those behind them.
bool PageFetches::need_not_be_read(PageId node) const noexcept {
  return pages_.tiers().has_hollow() ? !pages_.tiers().is_hollow(node)
                                     : pages_.tiers().is_here(node);
}

/// Chooses which pages to read, so that the longest path can be gone on from, and returns their
/// keys.
std::vector<PageKey> PageFetches::choose(Fetch& fetch, std::span<const PageId> path,
                                         std::int32_t whole) const {
  std::vector<PageKey> keys;
  std::vector<bool> is_read;
  WindowPath found(limits_);
  for (std::int32_t page = 0; page < whole && !found.is_over(); ++page) {
    const auto index = static_cast<std::size_t>(page);
    keys.push_back(index < path.size()
                       ? saver_.key(path[index])
                       : saver_.keys().next(page == 0 ? first_key(fetch) : keys.back(),
                                            tokens_of(fetch, page)));
    is_read.push_back(index >= path.size() || !need_not_be_read(path[index]));
    found.add(!is_read.back() || files_.contains(keys.back()));
  }
  fetch.needed_from = found.first_needed(found.end());
  std::vector<PageKey> wanted;
  for (std::int32_t page = fetch.needed_from; page < found.end(); ++page) {
    if (!is_read[static_cast<std::size_t>(page)]) continue;
    fetch.at.push_back(page);
    wanted.push_back(keys[static_cast<std::size_t>(page)]);
  }
  return wanted;
}

/// Has pages lent for those that are to be read. What the device has of those that are needed
/// beside them was used just now.
bool PageFetches::lend(Fetch& fetch, std::span<const PageId> path) {
  pages_.nodes().leave_path(path.empty() ? kNoPage : path.back(), 0);
  std::vector<PageId> here;
  for (auto page = static_cast<std::size_t>(fetch.needed_from); page < path.size(); ++page) {
    if (pages_.tiers().is_here(path[page])) here.push_back(path[page]);
  }
  pages_.share(here);
  const bool lent = pages_.lend(static_cast<std::int32_t>(fetch.at.size()), fetch.pages);
  pages_.release(here);
  return lent;
}

std::span<const TokenId> PageFetches::tokens_of(const Fetch& fetch,
                                                std::int32_t page) const noexcept {
  const auto size = static_cast<std::size_t>(limits_.page_tokens);
  return std::span(fetch.tokens).subspan(static_cast<std::size_t>(page) * size, size);
}

std::int32_t PageFetches::queued() const noexcept {
  std::size_t pages = 0;
  for (const Fetch& one : fetches_) pages += one.pages.size();
  return static_cast<std::int32_t>(pages);
}

void PageFetches::advance(TimePoint now) {
  looked_at_ = now;
  std::erase_if(fetches_, [this](Fetch& one) { return look_at(one); });
}

/// Whether all ticks that may use the pages have run.
bool PageFetches::may_begin(Fetch& fetch) const noexcept {
  if (clock_.writings() < fetch.copied_by) return false;
  // Each plan looks here before it is written: so the newest one has the copies.
  if (std::exchange(fetch.copied_by, 0) > 0) fetch.after = std::max(fetch.after, clock_.newest());
  return clock_.over() >= fetch.after;
}

void PageFetches::read_if_ready(Fetch& fetch) {
  if (fetch.has_begun || !may_begin(fetch)) return;
  files_.read(fetch.read);
  fetch.has_begun = true;
}

/// Whether it is over.
bool PageFetches::look_at(Fetch& fetch) {
  read_if_ready(fetch);
  std::int32_t done = 0;
  Duration took{};
  const bool over = files_.is_over(*fetch.read, done, took);
  if (done > fetch.done || fetch.since == TimePoint{}) fetch.since = looked_at_;
  fetch.done = done;
  const Duration silence = looked_at_ - fetch.since;
  if (!over && silence < kPatience) return false;
  if (!over) {
    if (fetch.has_begun) files_.cancel(*fetch.read);
    costs_.learn(1, silence);
  } else {
    costs_.learn(done, took);
  }
  finish(fetch);
  return true;
}

/// Keeps the pages that were read, as far as what they continue can lead to them.
void PageFetches::finish(Fetch& fetch) {
  const std::size_t done = std::min(static_cast<std::size_t>(fetch.done), fetch.at.size());
  const std::int32_t end = done == 0 ? 0 : fetch.at[done - 1] + 1;
  path_.prepare(
      fetch.scope,
      std::span<const TokenId>(fetch.tokens).first(static_cast<std::size_t>(tokens_in(end))));
  std::vector<PageId> needed;
  std::size_t kept = 0;
  PageId node = kNoPage;
  for (std::int32_t page = 0; page < end; ++page) {
    if (fetch.at[kept] == page) {
      node = keep(fetch, node, kept++);
    } else {
      node = path_.lead_to(fetch.scope, node, tokens_of(fetch, page));
      if (node == kNoPage || (!pages_.tiers().has_hollow() && !pages_.tiers().is_here(node))) break;
      if (page < fetch.needed_from || !pages_.tiers().is_here(node)) continue;
      pages_.share({&node, 1});
    }
    needed.push_back(node);
  }
  pages_.give_back(std::span<const PageId>(fetch.pages).subspan(kept));
  pages_.release(needed);
}

/// Keeps a page that was read, of which a table has one more reference then, and returns it or
/// what somebody has computed meanwhile.
PageId PageFetches::keep(const Fetch& fetch, PageId parent, std::size_t which) {
  const PageId page = fetch.pages[which];
  pages_.end_loan(page);
  const PageId kept =
      pages_.nodes().keep(fetch.scope, parent, page, tokens_of(fetch, fetch.at[which]));
  if (kept != page) {
    pages_.share({&kept, 1});
    pages_.release({&page, 1});
  }
  return kept;
}

std::optional<TimePoint> PageFetches::looks_again_at() const noexcept {
  if (fetches_.empty()) return std::nullopt;
  return looked_at_ + kLookAgain;
}

void PageFetches::cancel_all() {
  for (Fetch& one : fetches_) {
    if (one.has_begun) files_.cancel(*one.read);
    pages_.give_back(one.pages);
  }
  fetches_.clear();
}

}  // namespace weft
