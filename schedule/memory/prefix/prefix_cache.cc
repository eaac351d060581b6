#include "weft/schedule/memory/prefix/prefix_cache.h"

#include <algorithm>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/memory/files/page_saver.h"

namespace weft {

PrefixCache::PrefixCache(const PlanClock& clock, std::int32_t pages, std::int32_t page_tokens,
                         bool keeps, std::int32_t places, std::vector<PlanCopy>* copies,
                         std::int32_t hollow, std::int32_t snapshot_pages)
    : clock_(clock),
      keeps_(keeps),
      has_tails_(keeps && places == 0 && hollow == 0 && snapshot_pages == 0),
      pool_(pages),
      host_(pages, keeps ? places : 0),
      hollow_(pages + host_.size(), keeps ? hollow : 0),
      copies_(copies),
      tree_(keeps ? pages + host_.size() + hollow_.size() : 0, page_tokens),
      idle_(NodeLinks{tree_}),
      tails_(keeps ? pages : 0),
      snapshots_(keeps ? snapshot_pages : 0, pages, host_.size(), hollow_.end()) {
  snapshot_pages_.reserve(static_cast<std::size_t>(snapshots_.each()));
  if (keeps) tail_.reserve(static_cast<std::size_t>(pages));
  if (host_.size() > 0) filled_in_.resize(static_cast<std::size_t>(pages));
  brought_.reserve(1);
}

bool PrefixCache::take(std::int32_t count, std::vector<PageId>& out) {
  if (count > free()) return false;
  while (pool_.free() < count) {
    if (idle_.size() == 0 && snapshots_.on_device() > 0) {
      lose_snapshot(snapshots_.oldest());
    } else if (idle_.size() == 0) {
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

/// Takes a page off the device, because its room is needed.
void PrefixCache::give_up(PageId page) {
  if (host_.size() == 0 || !is_sure(page) || !send_out(page)) lose_page(page);
}

/// Moves a page to host memory, which loses its oldest page if it is full. Returns false where
/// there is no place to be had.
bool PrefixCache::send_out(PageId page) {
  if (host_.free() == 0 && host_.taken() > 0) lose_page(host_.oldest());
  if (!tree_.contains(page)) return true;  // it was behind the other, and went with it
  const PageId place = host_.take();
  if (place == kNoPage) return false;
  copies_->push_back({page, place});
  ++went_out_;
  move(page, place);
  send_snapshot_out(place);
  return true;
}

/// Moves the snapshot of a node that is in host memory there as well. Where there is no room even
/// if older nodes go, the snapshot is lost.
void PrefixCache::send_snapshot_out(PageId node) {
  const std::int32_t slot = snapshots_.of(node);
  if (slot == StateSnapshots::kNone || !snapshots_.is_on_device(slot)) return;
  while (snapshots_.of(node) == slot && host_.free() < snapshots_.each() &&
         host_.oldest() != node) {
    lose_page(host_.oldest());
  }
  if (snapshots_.of(node) != slot) return;  // the node was behind one of these, and went with it
  if (host_.free() < snapshots_.each()) return lose_snapshot(slot);
  pool_.release(snapshots_.pages(slot));
  snapshots_.move_to_host(slot, [this](PageId page) {
    const PageId place = host_.take();
    host_.hold(place);
    copies_->push_back({page, place});
    ++went_out_;
    return place;
  });
}

void PrefixCache::lose_snapshot(std::int32_t slot) {
  if (snapshots_.is_on_device(slot)) {
    pool_.release(snapshots_.pages(slot));
  } else {
    for (const PageId place : snapshots_.pages(slot)) host_.drop(place);
  }
  snapshots_.drop(slot);
}

NewSnapshot PrefixCache::begin_snapshot() {
  if (snapshots_.each() == 0) return {};
  snapshot_pages_.clear();
  if (!take(snapshots_.each(), snapshot_pages_)) return {};
  return snapshots_.add(snapshot_pages_);
}

void PrefixCache::give_snapshot(PageId node, const NewSnapshot& one) {
  if (snapshots_.of(node) != StateSnapshots::kNone) return drop_snapshot(one);
  snapshots_.give_to(node, one.slot);
}

void PrefixCache::drop_snapshot(const NewSnapshot& one) {
  if (snapshots_.contains(one)) lose_snapshot(one.slot);
}

/// Drops the node's page. The node becomes a hollow one, or is forgotten if nothing continues it.
void PrefixCache::lose_page(PageId node) {
  while (has_hollow() && tree_.has_children(node)) {
    const PageId hollow = hollow_.take();
    if (hollow != kNoPage) {
      ++given_up_;
      return move(node, hollow);
    }
    forget(hollow_.oldest());  // which may lead to the node
  }
  if (tree_.contains(node)) forget(node);
}

/// Gives the node another number, and frees the room that it had.
void PrefixCache::move(PageId from, PageId to) {
  unlist(from);
  tree_.renumber(from, to);
  const std::int32_t snapshot = snapshots_.of(from);
  if (is_hollow(to) && snapshot != StateSnapshots::kNone) lose_snapshot(snapshot);
  snapshots_.renumber(from, to);
  if (saver_ != nullptr) saver_->renumbered(from, to);
  free_room_of(from);
}

/// Counts the node as left just now, if it is not in use.
void PrefixCache::touch(PageId node) {
  if (!is_here(node)) return places_of(node).touch(node);
  if (!idle_.contains(node)) return;
  idle_.remove(node);
  idle_.add(node);
}

/// Takes a page of the device off the list of idle ones.
void PrefixCache::unlist(PageId node) {
  if (is_here(node) && idle_.contains(node)) idle_.remove(node);
}

/// Frees the page or place of a node that has another number now, or has gone.
void PrefixCache::free_room_of(PageId node) {
  if (is_here(node)) return pool_.release({&node, 1});
  places_of(node).drop(node);
}

void PrefixCache::take_back(PageId page) {
  if (!filled_in_.empty()) filled_in_[static_cast<std::size_t>(page)] = 0;
  lose_page(page);
  --given_up_;  // that was not for want of room
}

/// Keeps nothing any more that continues the node in the tree.
void PrefixCache::forget_behind(PageId node) {
  for (PageId at = node;;) {
    while (tree_.first_child(at) != kNoPage) at = tree_.first_child(at);
    if (at == node) return;
    const PageId leaf = std::exchange(at, tree_.parent(at));
    if (is_here(leaf) && !has_hollow()) {
      internal_error("a page is given up before one that continues it");
    }
    unkeep(leaf);
  }
}

/// Hollow nodes from this one up are dropped as far as they lead to nothing.
void PrefixCache::drop_hollow_end(PageId node) {
  while (node != kNoPage && is_hollow(node) && !tree_.has_children(node)) {
    unkeep(std::exchange(node, tree_.parent(node)));
  }
}

void PrefixCache::leave_path(PageId last, std::int32_t nodes) {
  for (PageId node = last; node != kNoPage; node = tree_.parent(node)) {
    if (nodes-- > 0 || is_hollow(node)) touch(node);
  }
}

/// Copies what lies in a place, which is held, into a page that a table has then; kNoPage where
/// none can be had.
PageId PrefixCache::bring(PageId place) {
  brought_.clear();
  if (!take(1, brought_)) return kNoPage;
  const PageId page = brought_.front();
  move(place, page);
  pool_.share({&page, 1});
  copies_->push_back({place, page});
  ++came_in_;
  return page;
}

bool PrefixCache::share_path(std::span<PageId> path) {
  // All of it first, so that none has to go for another.
  for (const PageId node : path) {
    if (is_here(node)) {
      share({&node, 1});
    } else {
      host_.hold(node);
    }
  }
  const auto is_out = [this](PageId node) { return !is_here(node); };
  for (auto node = path.begin(); (node = std::find_if(node, path.end(), is_out)) != path.end();) {
    const PageId page = bring(*node);
    if (page == kNoPage) break;
    *node = page;
  }
  if (std::ranges::none_of(path, is_out)) return true;
  // The last first, as in release().
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    if (is_here(*node)) {
      release({&*node, 1});
    } else {
      host_.let_go(*node);
    }
  }
  return false;
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
  if (kept == page) {
    if (saver_ != nullptr) saver_->kept(scope, parent, page, tokens);
  } else if (is_here(kept)) {
    return kept;
  } else {
    move(kept, page);  // its page was in host memory, or gone, and was computed again
  }
  pool_.share({&page, 1});
  return page;
}

bool PrefixCache::lend(std::int32_t count, std::vector<PageId>& out) {
  if (count > pool_.free() + idle()) return false;
  // Not to host memory, as no plan may come that copies it before it is filled.
  while (pool_.free() < count) lose_page(idle_.oldest());
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

/// What is there of a path counts as used; returns how many pages it lacks.
std::int32_t PrefixCache::use_path(const PrefixScope& scope, std::span<const TokenId> tokens) {
  PageId last = kNoPage;
  while (!tokens.empty()) {
    const PageId next = tree_.find(scope, last, tokens.first(tree_.page_tokens()));
    if (next == kNoPage) break;
    last = next;
    tokens = tokens.subspan(tree_.page_tokens());
  }
  leave_path(last, 0);
  return static_cast<std::int32_t>(tokens.size() / tree_.page_tokens());
}

void PrefixCache::prepare_path(const PrefixScope& scope, std::span<const TokenId> tokens) {
  if (std::cmp_greater(tokens.size() / tree_.page_tokens(), hollow_.size())) {
    internal_error("a path has more pages than there are hollow nodes");
  }
  // What is there of it goes last, but for an end that leads to what goes before.
  for (std::int32_t lacks = use_path(scope, tokens); hollow_.free() < lacks;
       lacks = use_path(scope, tokens)) {
    while (hollow_.free() < lacks) forget(hollow_.oldest());
  }
}

PageId PrefixCache::lead_to(const PrefixScope& scope, PageId parent,
                            std::span<const TokenId> tokens) {
  const PageId found = tree_.find(scope, parent, tokens);
  if (found != kNoPage || !has_hollow()) return found;
  const PageId hollow = hollow_.take();
  if (hollow == kNoPage) internal_error("a path is longer than was prepared");
  tree_.insert(scope, parent, hollow, tokens);
  if (saver_ != nullptr) saver_->kept(scope, parent, hollow, tokens);
  return hollow;
}

/// Takes the node out of the tree, and what continues it.
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

/// Takes a node out of the tree that nothing continues.
void PrefixCache::unkeep(PageId node) {
  given_up_ += is_hollow(node) ? 0 : 1;
  if (is_here(node) && saver_ != nullptr) saver_->forgotten(node);
  if (snapshots_.of(node) != StateSnapshots::kNone) lose_snapshot(snapshots_.of(node));
  unlist(node);
  tree_.erase(node);
  free_room_of(node);
}

void PrefixCache::forget_all() {
  const std::uint64_t given_up = given_up_;
  while (host_.taken() > 0) forget(host_.oldest());
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
  check_places(host_);
  check_places(hollow_);
  check_snapshots();
}

void PrefixCache::check_snapshots() const {
  snapshots_.check();
  for (PageId page = 0; page < size(); ++page) {
    if (snapshots_.has_page(page) && (is_kept(page) || pool_.references(page) != 1)) {
      internal_error("a snapshot's page is another's as well");
    }
  }
  for (PageId node = 0; snapshots_.each() > 0 && node < hollow_.end(); ++node) {
    if (snapshots_.of(node) != StateSnapshots::kNone && !tree_.contains(node)) {
      internal_error("a node has a snapshot that is not kept");
    }
  }
}

void PrefixCache::check_page(PageId page) const {
  if (is_in_idle_tail(page) && tree_.contains(page)) internal_error("a page is kept twice");
  if (tails_.count(page) > 0 && !(idle_.contains(page) && tree_.has_tail(page))) {
    internal_error("an idle tail hangs at a page that is not idle");
  }
  const PageId parent = is_in_idle_tail(page) ? tails_.before(page) : tree_.parent(page);
  if (parent == kNoPage) return;
  if (!is_kept(parent) || (!has_hollow() && is_on_host(parent))) {
    internal_error("a page is kept without those that lead to it");
  }
  if (!has_hollow() && references(parent) < references(page))
    internal_error("a page outlives one before it");
}

void PrefixCache::check_places(const NodePlaces& places) const {
  const std::int32_t on_host = snapshots_.size() - snapshots_.on_device();
  places.check(&places == &host_ ? on_host * snapshots_.each() : 0);
  for (PageId node = places.first(); node < places.end(); ++node) {
    if (tree_.contains(node) != places.is_taken(node)) {
      internal_error("a node's place is taken without it, or the reverse");
    }
    if (!tree_.contains(node)) continue;
    const PageId parent = tree_.parent(node);
    const bool leads_nowhere = is_hollow(node) && !tree_.has_children(node);
    if (leads_nowhere || (parent != kNoPage && !tree_.contains(parent))) {
      internal_error("a node below the device leads to nothing, or nothing to it");
    }
  }
}

}  // namespace weft
