#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/tree/prefix_tree.h"

namespace weft {

class Group;
struct Sequence;

/// Whose tail it is while the sequence runs.
struct TailOwner {
  Group* group = nullptr;
  Sequence* sequence = nullptr;  ///< null: nobody's, it is idle
};

/// Tails of pages: a page of PrefixTree, the head, may have one behind it, of pages that lead from
/// one to the next and that nobody has looked for. A page of a tail has no node. As long as a
/// sequence has the tail, its pages are known by the sequence's table; once it is idle, each knows
/// the one before it. So a text that is never found again costs little when it is left, and next to
/// nothing when it is given up, from its end on.
///
/// Owner only; a part of DevicePages. It allocates in the constructor. A call takes the time of the
/// pages that it is about, and misuse is an internal_error.
class PageTails {
 public:
  /// Tails of the pages 0 .. `pages`-1, of which `tree` notes which ones have one. It outlives
  /// this.
  PageTails(PrefixTree& tree, std::int32_t pages);

  /// Pages of all tails that are idle.
  [[nodiscard]] std::int32_t idle() const noexcept { return idle_; }
  /// Whether the page is in an idle tail.
  [[nodiscard]] bool is_idle(PageId page) const noexcept {
    return before_[static_cast<std::size_t>(page)] != kOut;
  }
  /// Whether the page of the tree has a tail.
  [[nodiscard]] bool has(PageId head) const noexcept { return tree_.has_tail(head); }
  [[nodiscard]] const TailOwner& owner(PageId head) const noexcept { return at(head).owner; }

  /// The pages of the head's idle tail; 0 where it has none.
  [[nodiscard]] std::int32_t count(PageId head) const noexcept { return at(head).count; }
  /// The last page of the head's idle tail; only while it has one.
  [[nodiscard]] PageId last(PageId head) const noexcept { return at(head).last; }
  /// The page before one of an idle tail: the head before the first.
  [[nodiscard]] PageId before(PageId page) const noexcept {
    return before_[static_cast<std::size_t>(page)];
  }

  /// A page of the tree, which is a leaf, has a running sequence's tail from now on.
  void begin(PageId head, const TailOwner& owner) {
    tree_.set_tail(head, true);
    at(head).owner = owner;
  }
  /// It has it no more.
  void end(PageId head) {
    tree_.set_tail(head, false);
    at(head).owner = {};
  }
  /// Has the processor fetch what it takes to leave a tail and its head soon.
  void prefetch_to_leave(PageId head) const noexcept {
    __builtin_prefetch(&at(head), 1);
    tree_.prefetch_to_erase(head);
  }
  /// Leaves the head, whose owner's tail it was, an idle tail of these pages, of which there is at
  /// least one. `tokens_of(i)` are the tokens of the i-th.
  template <class TokensOf>
  void leave(PageId head, std::span<const PageId> pages, TokensOf&& tokens_of) {
    for (const PageId page : pages) tree_.prefetch_to_write_tokens(page);
    link(head, pages);
    for (std::size_t i = 0; i < pages.size(); ++i) tree_.write_tokens(pages[i], tokens_of(i));
  }
  /// Takes the last page of an idle tail away and returns it.
  PageId pop(PageId head) {
    Tail& tail = at(head);
    if (tail.count == 0) internal_error("a page is taken from a tail that has none");
    const PageId last = tail.last;
    tail.last = std::exchange(before_[static_cast<std::size_t>(last)], kOut);
    __builtin_prefetch(&before_[static_cast<std::size_t>(tail.last)], 1);
    --tail.count;
    --idle_;
    if (tail.count == 0) tree_.set_tail(head, false);
    return last;
  }
  /// Takes all pages of the head's idle tail away and returns them, from the first on. Valid until
  /// the next call.
  [[nodiscard]] std::span<const PageId> take_all(PageId head);

 private:
  static constexpr PageId kOut = -2;

  struct alignas(32) Tail {  // so that none lies in two lines of the processor's cache
    TailOwner owner;
    PageId last = kOut;
    std::int32_t count = 0;
  };

  [[nodiscard]] const Tail& at(PageId head) const noexcept {
    return tails_[static_cast<std::size_t>(head)];
  }
  [[nodiscard]] Tail& at(PageId head) noexcept { return tails_[static_cast<std::size_t>(head)]; }
  void link(PageId head, std::span<const PageId> pages);

  PrefixTree& tree_;
  std::vector<Tail> tails_;     // by head
  std::vector<PageId> before_;  // by page
  std::vector<PageId> taken_;   // by the last take_all()
  std::int32_t idle_ = 0;
};

}  // namespace weft
