#include "weft/schedule/memory/page_fetches.h"

#include <algorithm>
#include <span>
#include <utility>

namespace weft {
namespace {

/// As many tokens as it would take from the cache when it begins.
std::int32_t most_found(const Group& group) {
  const Sequence& leader = group.leader();
  return (group.alive == 1 ? group.known(leader) : group.prompt_tokens()) - 1;
}

}  // namespace

PageFetches::PageFetches(PageSaver& saver, PrefixCache& pages, PrefixKeeper& keeper,
                         const StepTimeModel& times, const DeviceLimits& limits)
    : saver_(saver),
      files_(saver.files()),
      pages_(pages),
      keeper_(keeper),
      costs_(times, limits),
      page_tokens_(limits.page_tokens) {
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
    const std::int64_t before = std::int64_t{one.before} * page_tokens_;
    // It is read already, as all that is queued.
    if (!costs_.copying_is_sooner(pages, before, queued() - pages)) continue;
    one.followers.push_back({&group, group.order});
    return true;
  }
  return false;
}

/// How many pages of the group's own prompt the fetch reads.
std::int32_t PageFetches::gains_by(const Fetch& fetch, const Group& group) {
  if (fetch.scope != group.prefix_scope) return 0;
  const Sequence& leader = group.leader();
  const std::int32_t read = fetch.before + static_cast<std::int32_t>(fetch.pages.size());
  const std::int32_t most = std::min(most_found(group), read * page_tokens_);
  std::int32_t alike = 0;
  while (alike < most &&
         fetch.tokens[static_cast<std::size_t>(alike)] == group.token(leader, alike))
    ++alike;
  const std::int32_t pages = alike / page_tokens_;
  return pages - keeper_.count(group, leader, pages * page_tokens_);
}

bool PageFetches::start(const Group& group) {
  const Sequence& leader = group.leader();
  const std::int32_t most = most_found(group);
  std::vector<PageId> path = keeper_.path(group, leader, most);
  const auto there = static_cast<std::int32_t>(path.size());
  const auto in_host_memory = [this](PageId page) { return pages_.is_on_host(page); };
  path.erase(std::ranges::find_if(path, in_host_memory), path.end());
  const auto before = static_cast<std::int32_t>(path.size());
  const std::int32_t whole = most / page_tokens_;
  if (before >= whole) return false;
  Fetch fetch;
  fetch.group = {&group, group.order};
  fetch.scope = group.prefix_scope;
  fetch.before = before;
  const std::int32_t tokens = whole * page_tokens_;
  fetch.tokens.reserve(static_cast<std::size_t>(tokens));
  for (std::int32_t i = 0; i < tokens; ++i) fetch.tokens.push_back(group.token(leader, i));
  std::vector<PageKey> keys = keys_in_files(fetch, path, whole);
  const auto count = static_cast<std::int32_t>(keys.size());
  if (before + count <= there) return false;  // host memory has as much, and is faster
  const std::int64_t tokens_before = std::int64_t{before} * page_tokens_;
  if (count == 0 || !costs_.copying_is_sooner(count, tokens_before, queued())) return false;
  // What it continues was used just now, so that it is not given up for what continues it.
  pages_.share(path);
  const bool lent = pages_.lend(count, fetch.pages);
  pages_.release(path);
  if (!lent) return false;
  // After another scheduler, ticks of its own may still run until one of this one has.
  fetch.after = std::max<std::uint64_t>(ticks_, saver_.is_first() ? 0 : 1);
  fetch.waits_for_copies = pages_.has_copies();
  fetch.read = std::make_shared<PageRead>(std::move(keys), fetch.pages);
  read_if_ready(fetch);
  fetches_.push_back(std::move(fetch));
  return true;
}

/// Of the pages behind those that are there, which lie in files one after the other.
std::vector<PageKey> PageFetches::keys_in_files(const Fetch& fetch, std::span<const PageId> path,
                                                std::int32_t whole) const {
  PageKey last = path.empty() ? saver_.keys().first(files_.identity(), fetch.scope.domain.get(),
                                                    fetch.scope.long_context)
                              : saver_.key(path.back());
  std::vector<PageKey> keys;
  for (std::int32_t page = fetch.before; page < whole; ++page) {
    last = saver_.keys().next(last, tokens_of(fetch, page));
    if (!files_.contains(last)) break;
    keys.push_back(last);
  }
  return keys;
}

std::span<const TokenId> PageFetches::tokens_of(const Fetch& fetch,
                                                std::int32_t page) const noexcept {
  const auto size = static_cast<std::size_t>(page_tokens_);
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

void PageFetches::planned(std::uint64_t ticks) noexcept {
  ticks_ = ticks;
  for (Fetch& one : fetches_) {
    if (std::exchange(one.waits_for_copies, false)) one.after = std::max(one.after, ticks);
  }
}

void PageFetches::read_if_ready(Fetch& fetch) {
  if (fetch.has_begun || fetch.waits_for_copies || run_ < fetch.after) return;
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

/// Keeps the pages that were read, where what they continue is still there.
void PageFetches::finish(Fetch& fetch) {
  const std::int32_t done = fetch.done;
  std::vector<PageId> path;
  for (std::int32_t i = 0; i < fetch.before; ++i) {
    const PageId parent = path.empty() ? kNoPage : path.back();
    const PageId page = pages_.tree().find(fetch.scope, parent, tokens_of(fetch, i));
    if (page == kNoPage || pages_.is_on_host(page)) {
      pages_.give_back(fetch.pages);
      return;
    }
    path.push_back(page);
  }
  pages_.share(path);
  const auto read = std::span<const PageId>(fetch.pages).first(static_cast<std::size_t>(done));
  pages_.give_back(std::span<const PageId>(fetch.pages).subspan(read.size()));
  for (std::int32_t i = 0; i < done; ++i) {
    const PageId page = read[static_cast<std::size_t>(i)];
    pages_.end_loan(page);
    const PageId parent = path.empty() ? kNoPage : path.back();
    const PageId kept = pages_.keep(fetch.scope, parent, page, tokens_of(fetch, fetch.before + i));
    if (kept != page) {  // somebody has computed it meanwhile
      pages_.share({&kept, 1});
      pages_.release({&page, 1});
    }
    path.push_back(kept);
  }
  pages_.release(path);
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
