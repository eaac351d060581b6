#include "weft/schedule/memory/prefix/prefix_nodes.h"

#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

/// The sizes, with nothing beside pages where nothing is kept.
PrefixCacheSizes checked(const PrefixCacheSizes& sizes) {
  if (sizes.keeps) return sizes;
  return {.pages = sizes.pages, .page_tokens = sizes.page_tokens};
}

std::int32_t nodes_of(const PrefixCacheSizes& sizes) {
  return sizes.keeps ? sizes.pages + sizes.places + sizes.hollow : 0;
}

PageTiers make_tiers(const PrefixCacheSizes& sizes, PrefixTree& tree,
                     std::vector<PlanCopy>* copies) {
  return {.device = {sizes.pages, tree, sizes.keeps},
          .host = {sizes.pages, sizes.places, copies},
          .hollow = {sizes.pages + sizes.places, sizes.hollow}};
}

}  // namespace

PrefixNodes::PrefixNodes(const PlanClock& clock, const PrefixCacheSizes& sizes,
                         std::vector<PlanCopy>* copies)
    : clock_(clock),
      keeps_(sizes.keeps),
      tree_(nodes_of(sizes), sizes.page_tokens),
      tiers_(make_tiers(checked(sizes), tree_, copies)),
      snapshots_(checked(sizes).snapshot_pages, tiers_) {
  if (tiers_.host.size() > 0) filled_in_.resize(static_cast<std::size_t>(sizes.pages));
}

void PrefixNodes::listen(NodeListener& listener) noexcept {
  listener_ = &listener;
  tiers_.device.listen(listener);
}

PageId PrefixNodes::keep(const PrefixScope& scope, PageId parent, PageId page,
                         std::span<const TokenId> tokens) {
  const PageId kept = tree_.insert(scope, parent, page, tokens);
  if (kept == page) {
    if (listener_ != nullptr) listener_->on_kept(scope, parent, page, tokens);
  } else if (tiers_.is_here(kept)) {
    return kept;
  } else {
    move(kept, page);  // its page was in host memory, or gone, and was computed again
  }
  tiers_.device.pool().share({&page, 1});
  return page;
}

void PrefixNodes::keep_hollow(const PrefixScope& scope, PageId parent, PageId hollow,
                              std::span<const TokenId> tokens) {
  tree_.insert(scope, parent, hollow, tokens);
  if (listener_ != nullptr) listener_->on_kept(scope, parent, hollow, tokens);
}

void PrefixNodes::take_back(PageId page) {
  if (!filled_in_.empty()) filled_in_[static_cast<std::size_t>(page)] = 0;
  lose_page(page);
  --given_up_;  // that was not for want of room
}

void PrefixNodes::leave_path(PageId last, std::int32_t nodes) {
  for (PageId node = last; node != kNoPage; node = tree_.parent(node)) {
    if (nodes-- > 0 || tiers_.is_hollow(node)) tiers_.of(node).touch(node);
  }
}

void PrefixNodes::bring(PageId place, PageId page) {
  move(place, page);
  tiers_.device.pool().share({&page, 1});
  tiers_.host.fetch(place, page);
}

void PrefixNodes::give_up(PageId page) {
  if (tiers_.host.size() == 0 || !is_sure(page) || !send_out(page)) lose_page(page);
}

PageId PrefixNodes::give_up_end(PageId head) {
  ++given_up_;
  return tiers_.device.tails().pop(head);
}

/// Moves a page to host memory, which loses its oldest page if it is full. Returns false where
/// there is no place to be had.
bool PrefixNodes::send_out(PageId page) {
  HostPlaces& host = tiers_.host;
  if (host.free() == 0 && host.taken() > 0) lose_page(host.oldest());
  if (!tree_.contains(page)) return true;  // it was behind the other, and went with it
  const PageId place = host.store(page);
  if (place == kNoPage) return false;
  move(page, place);
  send_snapshot_out(place);
  return true;
}

/// Moves the snapshot of a node that is in host memory there as well. Where there is no room even
/// if older nodes go, the snapshot is lost.
void PrefixNodes::send_snapshot_out(PageId node) {
  const std::int32_t slot = snapshots_.of(node);
  if (slot == StateSnapshots::kNone || !snapshots_.is_on_device(slot)) return;
  const HostPlaces& host = tiers_.host;
  while (snapshots_.of(node) == slot && host.free() < snapshots_.each() && host.oldest() != node) {
    lose_page(host.oldest());
  }
  if (snapshots_.of(node) != slot) return;  // the node was behind one of these, and went with it
  if (host.free() < snapshots_.each()) return snapshots_.drop(slot);
  snapshots_.move_to_host(slot);
}

void PrefixNodes::lose_page(PageId node) {
  while (tiers_.has_hollow() && tree_.has_children(node)) {
    const PageId hollow = tiers_.hollow.take();
    if (hollow != kNoPage) {
      ++given_up_;
      return move(node, hollow);
    }
    forget(tiers_.hollow.oldest());  // which may lead to the node
  }
  if (tree_.contains(node)) forget(node);
}

/// Gives the node another number, and frees the room that it had.
void PrefixNodes::move(PageId from, PageId to) {
  const std::int32_t snapshot = snapshots_.of(from);
  if (tiers_.is_hollow(to) && snapshot != StateSnapshots::kNone) snapshots_.drop(snapshot);
  tiers_.of(from).drop(from);
  tree_.renumber(from, to);
  snapshots_.renumber(from, to);
  if (listener_ != nullptr) listener_->on_renumbered(from, to);
}

/// Keeps nothing any more that continues the node in the tree.
void PrefixNodes::forget_behind(PageId node) {
  for (PageId at = node;;) {
    while (tree_.first_child(at) != kNoPage) at = tree_.first_child(at);
    if (at == node) return;
    const PageId leaf = std::exchange(at, tree_.parent(at));
    if (tiers_.is_here(leaf) && !tiers_.has_hollow()) {
      internal_error("a page is given up before one that continues it");
    }
    unkeep(leaf);
  }
}

/// Hollow nodes from this one up are dropped as far as they lead to nothing.
void PrefixNodes::drop_hollow_end(PageId node) {
  while (node != kNoPage && tiers_.is_hollow(node) && !tree_.has_children(node)) {
    unkeep(std::exchange(node, tree_.parent(node)));
  }
}

void PrefixNodes::forget(PageId node) {
  forget_behind(node);
  if (tiers_.is_hollow(node)) return drop_hollow_end(node);
  PageTails& tails = tiers_.device.tails();
  while (tails.has(node)) {
    const PageId last = tails.pop(node);
    tiers_.device.pool().release({&last, 1});
  }
  const PageId parent = tree_.parent(node);
  unkeep(node);
  drop_hollow_end(parent);
}

/// Takes a node out of the tree that nothing continues.
void PrefixNodes::unkeep(PageId node) {
  given_up_ += tiers_.is_hollow(node) ? 0 : 1;
  if (tiers_.is_here(node) && listener_ != nullptr) listener_->on_forgotten(node);
  if (snapshots_.of(node) != StateSnapshots::kNone) snapshots_.drop(snapshots_.of(node));
  tiers_.of(node).drop(node);
  tree_.erase(node);
}

void PrefixNodes::forget_all() {
  const std::uint64_t given_up = given_up_;
  while (tiers_.host.taken() > 0) forget(tiers_.host.oldest());
  while (tiers_.device.idle() > 0) forget(tiers_.device.oldest());
  given_up_ = given_up;  // that was not for want of room
  if (keeps_ && tree_.size() > 0) internal_error("a page is forgotten that sequences have");
}

}  // namespace weft
