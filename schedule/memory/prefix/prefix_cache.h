#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "weft/gpu/plan.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/prefix/page_loans.h"
#include "weft/schedule/memory/prefix/prefix_nodes.h"
#include "weft/schedule/memory/prefix/prefix_stats.h"
#include "weft/schedule/memory/states/state_snapshots.h"
#include "weft/schedule/memory/tiers/page_tiers.h"
#include "weft/schedule/memory/tree/node_listener.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// The pages of the KV cache, of which full ones stay findable by their tokens: while sequences
/// have them, and after that until their room is needed. A page is
/// - free: nobody refers to it;
/// - of sequences alone;
/// - kept: in the tree (PrefixNodes), as one more reference. Once no sequence has it, it is idle,
///   and counts as free;
/// - of a snapshot (StateSnapshots), which counts as free as well;
/// - lent (PageLoans), which counts as free as well.
///
/// When somebody needs more pages than are free, the idle page goes that was left longest ago; when
/// no page is idle, the snapshot that was made or used longest ago; then what is lent is called
/// back.
///
/// Without places, files and sliding a sequence's pages may be kept as a tail (PageTails): its
/// first page of its own is in the tree, as the head, and those behind it come into the tree when
/// somebody looks for what continues the head (DevicePages::read_tail). An idle tail hangs at an
/// idle head alone, and is given up before it. Where rows have state nothing is kept as a tail.
///
/// Without `keeps` nothing is kept, and it is a PagePool. Owner only. The constructor allocates
/// everything, and each call costs the pages that it is about. Misuse is an internal_error.
class PrefixCache {
 public:
  /// Copies of pages that are in no plan yet are in `copies`; those to and from places in host
  /// memory are appended to it. Tables may lose pages from their beginning on where there is room
  /// for hollow nodes. `clock` outlives it.
  PrefixCache(const PlanClock& clock, const PrefixCacheSizes& sizes,
              std::vector<PlanCopy>* copies = nullptr);

  [[nodiscard]] bool keeps() const noexcept { return keeps_; }
  /// Whether pages may be kept as tails: what goes to host memory or to files goes page by page.
  [[nodiscard]] bool has_tails() const noexcept { return has_tails_; }
  /// What is kept.
  [[nodiscard]] PrefixNodes& nodes() noexcept { return nodes_; }
  [[nodiscard]] const PrefixNodes& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const PageTiers& tiers() const noexcept { return nodes_.tiers(); }

  [[nodiscard]] std::int32_t size() const noexcept { return tiers().device.size(); }
  /// Pages that can be taken: free ones, those given up for it, and those called back.
  [[nodiscard]] std::int32_t free() const noexcept {
    const StateSnapshots& snapshots = nodes_.snapshots();
    return spare() + tiers().device.idle() + loans_.count() +
           snapshots.on_device() * snapshots.each();
  }
  /// Of these, pages for which nothing is given up or called back.
  [[nodiscard]] std::int32_t spare() const noexcept { return tiers().device.pool().free(); }
  /// How many page tables have the page.
  [[nodiscard]] std::int32_t references(PageId page) const {
    const bool has_one_more =
        nodes_.is_kept(page) || loans_.has(page) || nodes_.snapshots().has_page(page);
    return tiers().device.pool().references(page) - (has_one_more ? 1 : 0);
  }
  /// Whether one table alone has a page that a table has.
  [[nodiscard]] bool is_unshared(PageId page) const {
    // Asked of each row in each tick, so without a look at the tree where that is enough.
    return tiers().device.pool().references(page) == 1 || references(page) == 1;
  }

  /// Appends `count` pages to `out`, for one table. Where too few can be had it changes nothing and
  /// returns false.
  [[nodiscard]] bool take(std::int32_t count, std::vector<PageId>& out);
  /// One table more has these pages, which are not free.
  void share(std::span<const PageId> pages) { nodes_.tiers().device.share(pages); }
  /// One table less has these pages, in the order of the table. Those that nobody has any more are
  /// free, or idle where they are kept.
  void release(std::span<const PageId> pages) { nodes_.tiers().device.release(pages); }
  /// One table more has these nodes of a path, none of which is hollow. Those in host memory are
  /// copied into pages, whose numbers take their places in `path`. What leads there and is hollow
  /// was used just now (PrefixNodes::leave_path). False where no page can be had: then the table
  /// has none of them, and what was copied by then is idle.
  [[nodiscard]] bool share_path(std::span<PageId> path);

  /// Tells `listener`, which outlives it, what becomes of nodes. `call_back` is to give back all
  /// pages that are lent.
  void use(NodeListener& listener, std::function<void()> call_back) {
    nodes_.listen(listener);
    has_tails_ = false;
    loans_.use(std::move(call_back));
  }
  /// Lends pages to whoever fills them before they are kept. False where too few can be had. Plans
  /// may still copy what they held before: those that were made, and the next one where copies are
  /// in no plan yet.
  [[nodiscard]] bool lend(std::int32_t count, std::vector<PageId>& out);
  /// Lent pages are free again.
  void give_back(std::span<const PageId> pages);
  /// A lent page is like one that a table has.
  void end_loan(PageId page) { loans_.end(page); }

  /// Adds what is kept, and what became of it.
  void add_to(PrefixStats& stats) const noexcept;
  /// Checks that exactly the kept pages that no table has are idle, and that parents of pages that
  /// tables have are in tables, too; internal_error where not. For tests: it looks at every page.
  void check() const;

 private:
  [[nodiscard]] bool bring(PageId& node);

  const bool keeps_;
  bool has_tails_;
  PrefixNodes nodes_;
  PageLoans loans_;
  std::vector<PageId> brought_;  // the page that one in host memory comes to
};

}  // namespace weft
