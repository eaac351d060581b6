#include "weft/schedule/memory/prefix_cache.h"

#include <algorithm>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/memory/page_saver.h"

namespace weft {

PrefixCache::PrefixCache(std::int32_t pages, std::int32_t page_tokens, bool keeps,
                         std::int32_t places, std::vector<PlanCopy>* copies, std::int32_t hollow)
    : keeps_(keeps),
      pool_(pages),
      host_(pages, keeps ? places : 0),
      hollow_(pages + host_.size(), keeps && host_.size() == 0 ? hollow : 0),
      slides_(hollow > 0),
      copies_(copies),
      tree_(keeps ? pages + host_.size() + hollow_.size() : 0, page_tokens),
      idle_(NodeLinks{tree_}),
      tails_(keeps ? pages : 0) {
  if (keeps) tail_.reserve(static_cast<std::size_t>(pages));
  if (host_.size() > 0) unsure_in_.resize(static_cast<std::size_t>(pages));
}

bool PrefixCache::take(std::int32_t count, std::vector<PageId>& out) {
  if (count > free()) return false;
  while (pool_.free() < count) {
    if (idle_.size() == 0) {
      call_back_();
    } else if (tree_.has_tail(idle_.oldest())) {
      // It had one reference, the cache's own, and has one now.
      out.push_back(tails_.last(idle_.oldest()));  // may throw, and the page is still kept then
      pop_tail(idle_.oldest());
      ++given_up_;
      --count;
    } else {
      give_up(idle_.oldest());
      if (idle_.size() > 0) tree_.prefetch_to_erase(idle_.oldest());
    }
  }
  return pool_.take(count, out);
}

void PrefixCache::read_tail(PageId head) {
  tail_.clear();
  while (tree_.has_tail(head)) tail_.push_back(pop_tail(head));
  // The later one leads to the earlier, and was left after it.
  PageId parent = head;
  for (auto page = tail_.rbegin(); page != tail_.rend(); ++page) {
    tree_.insert({}, parent, *page, tree_.tokens(*page));
    idle_.add_before(*page, parent);
    parent = *page;
  }
}

/// The page goes to host memory, or to nothing; then its node may stay.
void PrefixCache::give_up(PageId page) {
  const bool can_move = host_.size() > 0 && unsure_in_[static_cast<std::size_t>(page)] != plans_ &&
                        !is_continued_here(page);
  const PageId place = can_move ? find_place() : HostPlaces::kNone;
  if (place == HostPlaces::kNone) {
    take_back(page);
    ++given_up_;
    return;
  }
  copies_->push_back({page, place});
  if (saver_ != nullptr) saver_->moved_out(page, place);
  ++went_out_;
  idle_.remove(page);
  tree_.renumber(page, place);
  pool_.release({&page, 1});
}

PageId PrefixCache::find_place() {
  const PageId free = host_.take();
  const PageId oldest = host_.oldest();
  if (free != HostPlaces::kNone || oldest == HostPlaces::kNone) return free;
  forget_behind(oldest);
  drop(oldest);
  return host_.take();
}

void PrefixCache::drop(PageId place) {
  tree_.erase(place);
  host_.drop(place);
  ++given_up_;
}

/// Whether a page on the device continues it.
bool PrefixCache::is_continued_here(PageId page) const {
  PageId child = slides_ ? tree_.first_child(page) : kNoPage;
  while (child != kNoPage && is_on_host(child)) child = tree_.next_sibling(child);
  return child != kNoPage;
}

/// Keeps nothing any more that continues the node in the tree.
void PrefixCache::forget_behind(PageId node) {
  for (PageId at = node;;) {
    while (tree_.first_child(at) != kNoPage) at = tree_.first_child(at);
    if (at == node) return;
    const PageId leaf = std::exchange(at, tree_.parent(at));
    if (is_on_host(leaf)) {
      drop(leaf);
    } else if (is_hollow(leaf)) {
      tree_.erase(leaf);
      hollow_.drop(leaf);
    } else {
      if (!slides_) internal_error("a page is given up before one that continues it");
      ++given_up_;
      unkeep(leaf);
    }
  }
}

void PrefixCache::take_back(PageId page) {
  while (has_hollow() && tree_.contains(page) && tree_.has_children(page)) {
    const PageId node = hollow_.take();
    if (node == HostPlaces::kNone) {
      forget(hollow_.oldest());  // which may lead to the page
      continue;
    }
    if (idle_.contains(page)) idle_.remove(page);
    tree_.renumber(page, node);
    pool_.release({&page, 1});
    return;
  }
  if (tree_.contains(page)) return forget(page);
  --given_up_;  // behind the hollow one: who gives it up counts it
}

/// Hollow nodes from this one up are dropped as far as they lead to nothing.
void PrefixCache::drop_hollow_end(PageId node) {
  while (node != kNoPage && is_hollow(node) && !tree_.has_children(node)) {
    const PageId end = std::exchange(node, tree_.parent(node));
    tree_.erase(end);
    hollow_.drop(end);
  }
}

void PrefixCache::leave_path(PageId last, std::int32_t nodes) {
  for (PageId node = last; node != kNoPage; node = tree_.parent(node)) {
    if (is_hollow(node)) {
      hollow_.touch(node);
    } else if (nodes > 0 && idle_.contains(node)) {
      idle_.remove(node);
      idle_.add(node);
    }
    --nodes;
  }
}

std::int32_t PrefixCache::bring(std::span<const PageId> places, std::vector<PageId>& out) {
  for (const PageId place : places) host_.hold(place);
  std::int32_t brought = 0;
  for (const PageId place : places) {
    if (!take(1, out)) break;
    const PageId page = out.back();
    tree_.renumber(place, page);
    pool_.share({&page, 1});
    host_.free_held(place);
    copies_->push_back({place, page});
    if (saver_ != nullptr) saver_->moved_in(place, page);
    ++brought;
  }
  came_in_ += static_cast<std::uint64_t>(brought);
  // The last first, as in release().
  const auto rest = places.subspan(static_cast<std::size_t>(brought));
  for (auto place = rest.rbegin(); place != rest.rend(); ++place) host_.let_go(*place);
  return brought;
}

void PrefixCache::share(std::span<const PageId> pages) {
  pool_.share(pages);
  if (idle_.size() == 0) return;
  for (const PageId page : pages) {
    if (!idle_.contains(page)) continue;
    if (tree_.has_tail(page)) read_tail(page);
    idle_.remove(page);
  }
}

void PrefixCache::release(std::span<const PageId> pages) {
  if (!keeps_) return pool_.release(pages);
  for (const PageId page : pages) tree_.prefetch_to_erase(page);
  // The last of a table first: it is to be given up before those that lead to it.
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
    pool_.release({&*page, 1});
    if (!is_kept(*page) || pool_.references(*page) != 1) continue;
    idle_.add(*page);
    if (saver_ != nullptr) saver_->left(*page, has_copies());
  }
}

PageId PrefixCache::keep(const PrefixScope& scope, PageId parent, PageId page,
                         std::span<const TokenId> tokens) {
  const PageId kept = tree_.insert(scope, parent, page, tokens);
  if (!is_here(kept)) {
    // It was computed again though it was there, or its page was gone.
    tree_.renumber(kept, page);
    (is_hollow(kept) ? hollow_ : host_).drop(kept);
  } else if (kept != page) {
    return kept;
  }
  pool_.share({&page, 1});
  if (saver_ != nullptr) saver_->kept(scope, parent, page, tokens);
  return page;
}

bool PrefixCache::lend(std::int32_t count, std::vector<PageId>& out) {
  if (count > pool_.free() + idle()) return false;
  // Not to host memory, as no plan may come that copies it before it is filled.
  while (pool_.free() < count) {
    forget(idle_.oldest());
    ++given_up_;
  }
  if (!take(count, out)) return false;
  if (is_lent_.empty()) is_lent_.resize(static_cast<std::size_t>(size()));
  for (const PageId page : std::span(out).last(static_cast<std::size_t>(count))) {
    is_lent_[static_cast<std::size_t>(page)] = true;
  }
  lent_count_ += count;
  return true;
}

void PrefixCache::give_back(std::span<const PageId> pages) {
  for (const PageId page : pages) end_loan(page);
  pool_.release(pages);
}

void PrefixCache::end_loan(PageId page) {
  if (!is_lent(page)) internal_error("a page comes back that is not lent");
  is_lent_[static_cast<std::size_t>(page)] = false;
  --lent_count_;
}

/// Keeps a page no longer, or drops a hollow node, and with it what continues it.
void PrefixCache::forget(PageId node) {
  forget_behind(node);
  if (is_hollow(node)) return drop_hollow_end(node);
  while (tree_.has_tail(node)) {
    const PageId last = pop_tail(node);
    pool_.release({&last, 1});
  }
  const PageId parent = tree_.parent(node);
  unkeep(node);
  drop_hollow_end(parent);
}

/// Keeps a page no longer that nothing continues.
void PrefixCache::unkeep(PageId page) {
  if (saver_ != nullptr) saver_->forgotten(page);
  if (idle_.contains(page)) idle_.remove(page);
  tree_.erase(page);
  pool_.release({&page, 1});
}

void PrefixCache::forget_all() {
  const std::uint64_t given_up = given_up_;
  while (host_.taken() > 0) {
    forget_behind(host_.oldest());
    drop(host_.oldest());
  }
  while (idle_.size() > 0) forget(idle_.oldest());
  given_up_ = given_up;  // that was not for want of room
  if (keeps_ && tree_.size() > 0) internal_error("a page is forgotten that sequences have");
}

void PrefixCache::check() const {
  if (!keeps_) return;
  std::int32_t idle = 0;
  for (PageId page = 0; page < size(); ++page) {
    const bool is_idle = is_kept(page) && references(page) == 0;
    if (is_idle != (idle_.contains(page) || is_in_idle_tail(page))) {
      internal_error("an idle page is not listed as such");
    }
    idle += is_idle ? 1 : 0;
    if (is_kept(page)) check_page(page);
  }
  if (idle != this->idle()) internal_error("idle pages are miscounted");
  check_host();
  check_hollow();
}

void PrefixCache::check_page(PageId page) const {
  if (is_in_idle_tail(page) && tree_.contains(page)) internal_error("a page is kept twice");
  if (tails_.count(page) > 0 && !(idle_.contains(page) && tree_.has_tail(page))) {
    internal_error("an idle tail hangs at a page that is not idle");
  }
  const PageId parent = is_in_idle_tail(page) ? tails_.before(page) : tree_.parent(page);
  if (parent == kNoPage) return;
  if (is_on_host(parent) || !is_kept(parent)) {
    internal_error("a page is kept without those that lead to it");
  }
  if (!slides_ && references(parent) < references(page))
    internal_error("a page outlives one before it");
}

void PrefixCache::check_hollow() const {
  hollow_.check();
  const std::int32_t first = size() + host_.size();
  for (PageId node = first; node < first + hollow_.size(); ++node) {
    if (tree_.contains(node) != hollow_.is_taken(node)) {
      internal_error("a hollow node is lost");
    }
    if (!tree_.contains(node)) continue;
    const PageId parent = tree_.parent(node);
    if (!tree_.has_children(node) || (parent != kNoPage && !tree_.contains(parent))) {
      internal_error("a hollow node leads to nothing, or nothing to it");
    }
  }
}

void PrefixCache::check_host() const {
  host_.check();
  for (PageId place = size(); place < size() + host_.size(); ++place) {
    if (tree_.contains(place) != host_.is_taken(place)) {
      internal_error("a place holds what cannot be found");
    }
    const PageId parent = tree_.contains(place) ? tree_.parent(place) : kNoPage;
    if (parent != kNoPage && !tree_.contains(parent)) {
      internal_error("a page is in host memory without those that lead to it");
    }
  }
}

}  // namespace weft
