#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "weft/gpu/plan.h"
#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/prefix/page_tails.h"
#include "weft/schedule/memory/prefix/prefix_tree.h"
#include "weft/schedule/memory/states/state_snapshots.h"
#include "weft/schedule/memory/tiers/node_places.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

class PageSaver;

/// The pages of the KV cache, of which full ones stay findable by their tokens: while sequences
/// have them, and after that until their room is needed. A page is
/// - free: nobody refers to it;
/// - of sequences alone;
/// - kept: in the tree, as one more reference. Once no sequence has it, it is idle, and counts as
///   free.
///
/// Who has a kept page has all those that lead to it, and releases them together. So pages become
/// idle no later than their parents, leaves first, and the one that was left longest ago never has
/// children: giving up that one is LRU (RadixAttention, arXiv 2312.07104, section 3).
///
/// A node of the tree has its page in one of three tiers, and its number says in which:
/// - device: the node has the page's number;
/// - host memory, where there are `places`: the node has the number of its place;
/// - none: the node is hollow. It has only tokens, and a number behind the numbers of places.
///
/// When a tier is full, the node that was used longest ago moves down: from the device to host
/// memory, if it is sure what its page holds, or it loses the page. A node without a page stays as
/// a hollow one while pages continue it, if there are `hollow` ones, and goes with the last of
/// these pages. When hollow ones run out the oldest is forgotten with all behind it. A node moves
/// up when a table wants its page (share_path), and when its page is computed again or read from a
/// file (keep).
///
/// Unless sequences slide, all pages that lead to a page on the device are on the device, all pages
/// that continue one in host memory are in host memory, and no node is hollow. A sequence that
/// slides may have pages without those that lead to them, so a page may be idle, or below the
/// device, though it leads to pages that are in use or were left later.
///
/// Without places, files and sliding a sequence's pages may be kept as a tail (PageTails): its
/// first page of its own is in the tree, as the head, and those behind it come into the tree when
/// somebody looks for what continues the head (read_tail). An idle tail hangs at an idle head
/// alone, and is given up before it.
///
/// Where rows have state (`snapshot_pages`), a node on the device or in host memory may have a
/// snapshot beside its page (StateSnapshots). A snapshot goes to host memory with the node's page,
/// and stays there when that comes back; it is lost with that page. On the device its pages count
/// as free, and when no page is idle the snapshot goes that was made or used longest ago. Nothing
/// is kept as a tail.
///
/// Without `keeps` nothing is kept, and it is a PagePool. Owner only. The constructor allocates
/// everything, and each call costs the pages that it is about. Misuse is an internal_error.
class PrefixCache {
 public:
  /// Copies of pages that are in no plan yet are in `copies`; those to and from places in host
  /// memory are appended to it. Tables may lose pages from their beginning on where `hollow` nodes
  /// are allowed. `clock` outlives it.
  PrefixCache(const PlanClock& clock, std::int32_t pages, std::int32_t page_tokens, bool keeps,
              std::int32_t places = 0, std::vector<PlanCopy>* copies = nullptr,
              std::int32_t hollow = 0, std::int32_t snapshot_pages = 0);

  [[nodiscard]] bool keeps() const noexcept { return keeps_; }
  [[nodiscard]] std::int32_t size() const noexcept { return pool_.size(); }
  [[nodiscard]] std::int32_t on_host() const noexcept { return host_.taken(); }
  [[nodiscard]] std::uint64_t went_out() const noexcept { return went_out_; }
  [[nodiscard]] std::uint64_t came_in() const noexcept { return came_in_; }
  /// In which tier a node has its page.
  [[nodiscard]] bool is_here(PageId node) const noexcept { return node < size(); }
  [[nodiscard]] bool is_on_host(PageId node) const noexcept {
    return !is_here(node) && !is_hollow(node);
  }
  [[nodiscard]] bool is_hollow(PageId node) const noexcept { return node >= hollow_.first(); }
  /// Whether nodes may be hollow.
  [[nodiscard]] bool has_hollow() const noexcept { return hollow_.size() > 0; }
  /// Numbers that nodes may have beside those of the device's pages, and behind them.
  [[nodiscard]] std::int32_t others() const noexcept { return host_.size() + hollow_.size(); }
  [[nodiscard]] std::int32_t hollow() const noexcept { return hollow_.taken(); }
  /// Pages that can be taken: free ones, those given up for it, and those called back.
  [[nodiscard]] std::int32_t free() const noexcept {
    return pool_.free() + idle() + lent_count_ + snapshots_.on_device() * snapshots_.each();
  }
  /// Of these, pages for which nothing is given up or called back.
  [[nodiscard]] std::int32_t spare() const noexcept { return pool_.free(); }
  /// How many page tables have the page.
  [[nodiscard]] std::int32_t references(PageId page) const {
    const bool has_one_more = is_kept(page) || is_lent(page) || snapshots_.has_page(page);
    return pool_.references(page) - (has_one_more ? 1 : 0);
  }
  /// Whether one table alone has a page that a table has.
  [[nodiscard]] bool is_unshared(PageId page) const {
    // Asked of each row in each tick, so without a look at the tree where that is enough.
    return pool_.references(page) == 1 || references(page) == 1;
  }
  [[nodiscard]] bool is_kept(PageId page) const noexcept {
    return keeps_ && (tree_.contains(page) || is_in_idle_tail(page));
  }
  [[nodiscard]] const PrefixTree& tree() const noexcept { return tree_; }

  /// Appends `count` pages to `out`, for one table. Where too few can be had it changes nothing and
  /// returns false.
  [[nodiscard]] bool take(std::int32_t count, std::vector<PageId>& out);
  /// One table more has these pages, which are not free.
  void share(std::span<const PageId> pages);
  /// One table less has these pages, in the order of the table. Those that nobody has any more are
  /// free, or idle where they are kept.
  void release(std::span<const PageId> pages);

  /// Notes that the newest plan may fill the page, which is not copied before that plan is sure.
  void mark_unsure(PageId page) noexcept {
    if (!filled_in_.empty()) filled_in_[static_cast<std::size_t>(page)] = clock_.newest();
  }

  /// One table more has these nodes of a path, none of which is hollow. Those in host memory are
  /// copied into pages, whose numbers take their places in `path`. What leads there and is hollow
  /// was used just now (leave_path). False where no page can be had: then the table has none of
  /// them, and what was copied by then is idle.
  [[nodiscard]] bool share_path(std::span<PageId> path);

  /// Keeps a page that a table has, unless one of the same tokens is kept, and returns the one that
  /// is. `parent` is kNoPage or in the tree and, unless sequences slide, in the same table.
  PageId keep(const PrefixScope& scope, PageId parent, PageId page,
              std::span<const TokenId> tokens);
  /// Keeps a page no longer. What continues it is kept where its node may be hollow, else not.
  void take_back(PageId page);
  /// Gets ready for lead_to() of each page of a path with these tokens: what is there of it counts
  /// as used, and there are as many hollow nodes to be had as it lacks. Where nodes may be hollow,
  /// and the path is no longer than a row.
  void prepare_path(const PrefixScope& scope, std::span<const TokenId> tokens);
  /// Returns the node with these tokens behind `parent`; where there is none a new hollow one,
  /// behind which something must be kept soon. kNoPage where there are no hollow ones.
  PageId lead_to(const PrefixScope& scope, PageId parent, std::span<const TokenId> tokens);
  /// Keeps nothing any more; only while no table has a kept page.
  void forget_all();

  [[nodiscard]] const StateSnapshots& snapshots() const noexcept { return snapshots_; }
  /// Takes pages for a snapshot that a plan is to make. Its slot is StateSnapshots::kNone where
  /// there is no room, or rows have no state.
  [[nodiscard]] NewSnapshot begin_snapshot();
  /// A node that is kept gets the new snapshot, unless it has one: then the new one is given up.
  void give_snapshot(PageId node, const NewSnapshot& one);
  /// The new snapshot is given up, if it is there still.
  void drop_snapshot(const NewSnapshot& one);
  void touch_snapshot(std::int32_t slot) { snapshots_.touch(slot); }

  /// Tells `saver`, which outlives it, what becomes of pages; `call_back` is to give back all pages
  /// that are lent.
  void use(PageSaver& saver, std::function<void()> call_back) {
    saver_ = &saver;
    has_tails_ = false;
    call_back_ = std::move(call_back);
  }
  /// Lends pages to who fills them before they are kept. They count as free: where there are no
  /// others they are called back. False where too few can be had. Plans may still copy what they
  /// held before: those that were made, and where has_copies() the next one.
  [[nodiscard]] bool lend(std::int32_t count, std::vector<PageId>& out);
  /// Whether copies of pages have been decided that are in no plan yet.
  [[nodiscard]] bool has_copies() const noexcept { return copies_ != nullptr && !copies_->empty(); }
  /// Lent pages are free again.
  void give_back(std::span<const PageId> pages);
  /// A lent page is like one that a table has.
  void end_loan(PageId page);

  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }
  /// Pages of the device alone.
  [[nodiscard]] std::int32_t kept() const noexcept {
    return tree_.size() - host_.taken() - hollow_.taken() + tails_.idle();
  }
  [[nodiscard]] std::int32_t idle() const noexcept { return idle_.size() + tails_.idle(); }

  /// Whether pages may be kept as tails: what goes to host memory or to files goes page by page.
  [[nodiscard]] bool has_tails() const noexcept { return has_tails_; }
  /// Of the path that ends with this node, which is in the tree or kNoPage, the last `nodes` count
  /// as left just now where they are idle pages or in host memory, as what they lead to is. All
  /// hollow ones count as used.
  void leave_path(PageId last, std::int32_t nodes);
  /// A page of the tree, which is a leaf, has a running sequence's tail from now on.
  void begin_tail(PageId head, const TailOwner& owner) {
    tree_.set_tail(head, true);
    tails_.set_owner(head, owner);
  }
  /// It has it no more.
  void end_tail(PageId head) {
    tree_.set_tail(head, false);
    tails_.set_owner(head, {});
  }
  [[nodiscard]] const TailOwner& tail_owner(PageId head) const noexcept {
    return tails_.owner(head);
  }
  /// Has the processor fetch what it takes to leave a tail and its head soon.
  void prefetch_to_leave(PageId head) const noexcept {
    tails_.prefetch(head);
    tree_.prefetch_to_erase(head);
  }
  /// Keeps pages that one table alone has, and from now on none, as the tail of `head`, which has
  /// one and is about to be left as well: then they are idle with it. `tokens_of(i)` are those of
  /// the i-th.
  template <class TokensOf>
  void leave_tail(PageId head, std::span<const PageId> pages, TokensOf&& tokens_of) {
    for (const PageId page : pages) tree_.prefetch_to_write_tokens(page);
    tails_.leave(head, pages);
    for (std::size_t i = 0; i < pages.size(); ++i) tree_.write_tokens(pages[i], tokens_of(i));
  }
  /// Puts the pages of an idle tail into the tree.
  void read_tail(PageId head);

  /// Checks that exactly the kept pages that no table has are idle, and that parents of pages that
  /// tables have are in tables, too; internal_error where not. For tests: it looks at every page.
  void check() const;

 private:
  [[nodiscard]] bool is_lent(PageId page) const noexcept {
    return lent_count_ > 0 && is_lent_[static_cast<std::size_t>(page)];
  }
  [[nodiscard]] bool is_in_idle_tail(PageId page) const noexcept {
    return tails_.idle() > 0 && is_here(page) && tails_.is_idle(page);
  }
  /// Whether it is sure what the page holds.
  [[nodiscard]] bool is_sure(PageId page) const noexcept {
    return filled_in_[static_cast<std::size_t>(page)] <= clock_.sure();
  }
  /// Returns the tier of a node that is not on the device.
  [[nodiscard]] NodePlaces& places_of(PageId node) noexcept {
    return is_hollow(node) ? hollow_ : host_;
  }
  void give_up(PageId page);
  [[nodiscard]] bool send_out(PageId page);
  void send_snapshot_out(PageId node);
  void lose_snapshot(std::int32_t slot);
  void lose_page(PageId node);
  void move(PageId from, PageId to);
  void touch(PageId node);
  void unlist(PageId node);
  void free_room_of(PageId node);
  void forget(PageId node);
  void unkeep(PageId node);
  void drop_hollow_end(PageId node);
  [[nodiscard]] PageId bring(PageId place);
  PageId pop_tail(PageId head) {
    const PageId last = tails_.last(head);
    tails_.pop(head);
    if (tails_.count(head) == 0) tree_.set_tail(head, false);
    return last;
  }
  void check_page(PageId page) const;
  void check_snapshots() const;
  void forget_behind(PageId node);
  [[nodiscard]] std::int32_t use_path(const PrefixScope& scope, std::span<const TokenId> tokens);
  void check_places(const NodePlaces& places) const;

  /// The list of idle pages is linked through their nodes.
  struct NodeLinks {
    PrefixTree& tree;
    [[nodiscard]] PageLinks& operator()(PageId page) const noexcept { return tree.links(page); }
  };

  const PlanClock& clock_;
  const bool keeps_;
  bool has_tails_;
  PagePool pool_;
  NodePlaces host_;
  NodePlaces hollow_;
  std::vector<PlanCopy>* const copies_;
  PrefixTree tree_;
  PageList<NodeLinks> idle_;  // those of tails are idle with their heads
  PageTails tails_;
  StateSnapshots snapshots_;
  std::vector<PageId> snapshot_pages_;  // of the one that is being made
  std::vector<PageId> tail_;            // that is being read
  std::vector<PageId> brought_;         // the page that one in host memory comes to
  PageSaver* saver_ = nullptr;
  std::function<void()> call_back_;
  std::vector<bool> is_lent_;  // by page; empty until one is lent
  std::int32_t lent_count_ = 0;
  std::vector<std::uint64_t> filled_in_;  // by page: the tick, or 0; where there are places
  std::uint64_t given_up_ = 0;
  std::uint64_t went_out_ = 0;
  std::uint64_t came_in_ = 0;
};

}  // namespace weft
