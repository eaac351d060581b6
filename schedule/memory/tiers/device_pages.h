#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/tiers/page_tier.h"
#include "weft/schedule/memory/tree/node_listener.h"
#include "weft/schedule/memory/tree/page_tails.h"
#include "weft/schedule/memory/tree/prefix_tree.h"

namespace weft {

/// The device's pages, as a tier: who refers to each, and which are idle. Page tables that have a
/// page hold it. A page that is in the tree has one reference more. When nobody else has it, it is
/// idle, and in the order in which it was left. Pages of idle tails are idle with their heads.
///
/// Whoever has a kept page has all those that lead to it, and releases them together. So pages
/// become idle no later than their parents, leaves first, and the oldest idle page never has
/// children: giving up the oldest is LRU (RadixAttention, arXiv 2312.07104, section 3).
///
/// Owner only. The constructor allocates everything, and each call costs the pages that it is
/// about. Misuse is an internal_error.
class DevicePages final : public PageTier {
 public:
  /// `tree`, which outlives it, has a node for each page; without `keeps` it has none.
  DevicePages(std::int32_t pages, PrefixTree& tree, bool keeps);

  /// Tells `listener`, which outlives it, which pages are left.
  void listen(NodeListener& listener) noexcept { listener_ = &listener; }

  [[nodiscard]] PagePool& pool() noexcept { return pool_; }
  [[nodiscard]] const PagePool& pool() const noexcept { return pool_; }
  [[nodiscard]] PageTails& tails() noexcept { return tails_; }
  [[nodiscard]] const PageTails& tails() const noexcept { return tails_; }
  /// Pages that are kept and that no table has.
  [[nodiscard]] std::int32_t idle() const noexcept { return idle_.size() + tails_.idle(); }
  [[nodiscard]] bool is_idle(PageId page) const noexcept {
    return idle_.contains(page) || is_in_idle_tail(page);
  }
  [[nodiscard]] bool is_in_idle_tail(PageId page) const noexcept {
    return tails_.idle() > 0 && has(page) && tails_.is_idle(page);
  }
  /// The page was left longest ago, beside its tail.
  [[nodiscard]] PageId oldest() const noexcept override {
    return idle_.size() == 0 ? kNoPage : idle_.oldest();
  }

  /// One more has these pages, which are not free. A tail behind an idle one of them is put into
  /// the tree.
  void share(std::span<const PageId> pages);
  /// One less has these pages, in the order of a table. A page that nobody has any more is free, or
  /// idle where it is kept.
  void release(std::span<const PageId> pages);
  /// Puts the pages of an idle tail into the tree.
  void read_tail(PageId head);

  /// A page that a table has stays as it is.
  void touch(PageId page) override;
  void hold(PageId page) override { share({&page, 1}); }
  void let_go(PageId page) override { release({&page, 1}); }
  void drop(PageId page) override;

 private:
  /// The list of idle pages is linked through their nodes.
  struct NodeLinks {
    PrefixTree& tree;
    [[nodiscard]] PageLinks& operator()(PageId page) const noexcept { return tree.links(page); }
  };

  const bool keeps_;
  PrefixTree& tree_;
  PagePool pool_;
  PageList<NodeLinks> idle_;
  PageTails tails_;
  NodeListener* listener_ = nullptr;
};

}  // namespace weft
