#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/prefix_tree.h"

namespace weft {

/// What became of the look-ups and of the pages that are kept, since the beginning.
struct PrefixStats {
  std::uint64_t lookups = 0;    ///< groups that looked for their prompt's beginning
  std::uint64_t hits = 0;       ///< of those, how many found some of it
  std::uint64_t looked_up = 0;  ///< tokens that they looked for
  std::uint64_t found = 0;      ///< of those, how many need not be computed
  std::uint64_t given_up = 0;   ///< pages that were forgotten for want of room
  std::int32_t pages = 0;       ///< that can be found now
  std::int32_t idle = 0;        ///< of those, how many no sequence has
};

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
/// Without `keeps` nothing is kept, and it is a PagePool. Owner only. The constructor allocates
/// everything, and each call costs the pages that it is about. Misuse is an internal_error.
class PrefixCache {
 public:
  PrefixCache(std::int32_t pages, std::int32_t page_tokens, bool keeps);

  [[nodiscard]] bool keeps() const noexcept { return keeps_; }
  [[nodiscard]] std::int32_t size() const noexcept { return pool_.size(); }
  /// Pages that can be taken: free ones, and those given up for it.
  [[nodiscard]] std::int32_t free() const noexcept { return pool_.free() + idle_.size(); }
  /// How many page tables have the page.
  [[nodiscard]] std::int32_t references(PageId page) const {
    return pool_.references(page) - (is_kept(page) ? 1 : 0);
  }
  /// Whether one table alone has a page that a table has.
  [[nodiscard]] bool is_unshared(PageId page) const {
    // Asked of each row in each tick, so without a look at the tree where that is enough.
    return pool_.references(page) == 1 || references(page) == 1;
  }
  [[nodiscard]] bool is_kept(PageId page) const noexcept { return keeps_ && tree_.contains(page); }
  [[nodiscard]] const PrefixTree& tree() const noexcept { return tree_; }

  /// Appends `count` pages to `out`, for one table. Where too few can be had it changes nothing and
  /// returns false.
  [[nodiscard]] bool take(std::int32_t count, std::vector<PageId>& out);
  /// One table more has these pages, which are not free.
  void share(std::span<const PageId> pages);
  /// One table less has these pages, in the order of the table. Those that nobody has any more are
  /// free, or idle where they are kept.
  void release(std::span<const PageId> pages);

  /// Keeps a page that a table has, unless one of the same tokens is kept, and returns the one that
  /// is. `parent` is kept and in the same table, or kNoPage.
  PageId keep(const PrefixScope& scope, PageId parent, PageId page,
              std::span<const TokenId> tokens);
  /// Keeps a page no longer that has no children.
  void forget(PageId page);
  /// Keeps nothing any more; only while no table has a kept page.
  void forget_all();

  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }
  [[nodiscard]] std::int32_t kept() const noexcept { return tree_.size(); }
  [[nodiscard]] std::int32_t idle() const noexcept { return idle_.size(); }

  /// Checks that exactly the kept pages that no table has are idle, and that parents of pages that
  /// tables have are in tables, too; internal_error where not. For tests: it looks at every page.
  void check() const;

 private:
  const bool keeps_;
  PagePool pool_;
  PrefixTree tree_;
  IdlePages idle_;
  std::uint64_t given_up_ = 0;
};

}  // namespace weft
