#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/plan.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/states/state_snapshots.h"
#include "weft/schedule/memory/tiers/page_tiers.h"
#include "weft/schedule/memory/tree/node_listener.h"
#include "weft/schedule/memory/tree/prefix_tree.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// What there is room for in a PrefixCache.
struct PrefixCacheSizes {
  std::int32_t pages = 0;           ///< of the device
  std::int32_t page_tokens = 0;     ///< of each page
  bool keeps = false;               ///< without it nothing is kept, and the rest is taken as 0
  std::int32_t places = 0;          ///< for pages in host memory
  std::int32_t hollow = 0;          ///< nodes without a page
  std::int32_t snapshot_pages = 0;  ///< of a snapshot; 0: rows have no state
};

/// The nodes of the prefix tree, each of which has its page in one of three tiers:
/// - device: the node has the page's number;
/// - host memory, where there are places: the node has the number of its place;
/// - none: the node is hollow. It has only tokens, and a number behind the numbers of places.
///
/// When a tier is full, the node that was used longest ago moves down: from the device to host
/// memory, if it is sure what its page holds, or it loses the page. A node without a page stays as
/// a hollow one while pages continue it, if there are hollow ones, and goes with the last of
/// these pages. When hollow ones run out the oldest is forgotten with all behind it. A node moves
/// up when a table wants its page (bring), and when its page is computed again or read from a file
/// (keep).
///
/// Unless sequences slide, all pages that lead to a page on the device are on the device, all pages
/// that continue one in host memory are in host memory, and no node is hollow. A sequence that
/// slides may have pages without those that lead to them, so a page may be idle, or below the
/// device, though it leads to pages that are in use or were left later.
///
/// Where rows have state, a node on the device or in host memory may have a snapshot beside its
/// page (StateSnapshots). A snapshot goes to host memory with the node's page, and stays there when
/// that comes back; it is lost with that page.
///
/// Owner only; a part of PrefixCache. The constructor allocates everything, and each call costs the
/// pages that it is about. Misuse is an internal_error.
class PrefixNodes {
 public:
  /// Copies to and from places in host memory are appended to `copies`, as of HostPlaces. `clock`
  /// outlives it.
  PrefixNodes(const PlanClock& clock, const PrefixCacheSizes& sizes, std::vector<PlanCopy>* copies);

  /// Tells `listener`, which outlives it, what becomes of nodes.
  void listen(NodeListener& listener) noexcept;

  [[nodiscard]] const PrefixTree& tree() const noexcept { return tree_; }
  [[nodiscard]] PageTiers& tiers() noexcept { return tiers_; }
  [[nodiscard]] const PageTiers& tiers() const noexcept { return tiers_; }
  [[nodiscard]] StateSnapshots& snapshots() noexcept { return snapshots_; }
  [[nodiscard]] const StateSnapshots& snapshots() const noexcept { return snapshots_; }
  [[nodiscard]] bool is_kept(PageId page) const noexcept {
    return keeps_ && (tree_.contains(page) || tiers_.device.is_in_idle_tail(page));
  }
  /// Pages of the device that can be found, but those of running sequences' tails.
  [[nodiscard]] std::int32_t kept() const noexcept {
    return tree_.size() - tiers_.host.taken() - tiers_.hollow.taken() +
           tiers_.device.tails().idle();
  }
  /// Pages that were forgotten for want of room, since the beginning.
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }

  /// Keeps a page that a table has, unless one of the same tokens is kept, and returns the one that
  /// is. `parent` is kNoPage or in the tree and, unless sequences slide, in the same table.
  PageId keep(const PrefixScope& scope, PageId parent, PageId page,
              std::span<const TokenId> tokens);
  /// Puts a hollow node, whose number was taken for it, into the tree, where there is none with
  /// these tokens.
  void keep_hollow(const PrefixScope& scope, PageId parent, PageId hollow,
                   std::span<const TokenId> tokens);
  /// Keeps a page no longer. What continues it is kept where its node may be hollow, else not.
  void take_back(PageId page);
  /// Notes that the newest plan may fill the page, which is not copied before that plan is sure.
  void mark_unsure(PageId page) noexcept {
    if (!filled_in_.empty()) filled_in_[static_cast<std::size_t>(page)] = clock_.newest();
  }
  /// Of the path that ends with this node, which is in the tree or kNoPage, the last `nodes` count
  /// as left just now where they are idle pages or in host memory, as what they lead to is. All
  /// hollow ones count as used.
  void leave_path(PageId last, std::int32_t nodes);

  /// Moves a node up from host memory, where it is held, into a page that was taken for it.
  void bring(PageId place, PageId page);
  /// Takes an idle page off the device, because its room is needed. It goes to host memory if it
  /// can.
  void give_up(PageId page);
  /// Takes the last page of an idle tail away, which keeps its one reference for whoever needs it.
  PageId give_up_end(PageId head);
  /// Drops the node's page. The node becomes a hollow one, or is forgotten if nothing continues it.
  void lose_page(PageId node);
  /// Takes the node out of the tree, and what continues it.
  void forget(PageId node);
  /// Keeps nothing any more; only while no table has a kept page.
  void forget_all();

 private:
  /// Whether it is sure what the page holds.
  [[nodiscard]] bool is_sure(PageId page) const noexcept {
    return filled_in_[static_cast<std::size_t>(page)] <= clock_.sure();
  }
  [[nodiscard]] bool send_out(PageId page);
  void send_snapshot_out(PageId node);
  void move(PageId from, PageId to);
  void forget_behind(PageId node);
  void unkeep(PageId node);
  void drop_hollow_end(PageId node);

  const PlanClock& clock_;
  const bool keeps_;
  PrefixTree tree_;
  PageTiers tiers_;
  StateSnapshots snapshots_;
  NodeListener* listener_ = nullptr;
  std::vector<std::uint64_t> filled_in_;  // by page: the tick, or 0; where there are places
  std::uint64_t given_up_ = 0;
};

}  // namespace weft
