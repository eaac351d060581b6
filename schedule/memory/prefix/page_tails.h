#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/memory/page_pool.h"

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
/// Owner only; a part of PrefixCache. It allocates in the constructor. A call takes the time of the
/// pages that it is about, and misuse is an internal_error.
class PageTails {
 public:
  explicit PageTails(std::int32_t pages);

  /// Pages of all tails that are idle.
  [[nodiscard]] std::int32_t idle() const noexcept { return idle_; }
  /// Whether the page is in an idle tail.
  [[nodiscard]] bool is_idle(PageId page) const noexcept {
    return before_[static_cast<std::size_t>(page)] != kOut;
  }
  [[nodiscard]] const TailOwner& owner(PageId head) const noexcept { return at(head).owner; }
  void set_owner(PageId head, const TailOwner& owner) noexcept { at(head).owner = owner; }
  void prefetch(PageId head) const noexcept { __builtin_prefetch(&at(head), 1); }

  /// The pages of the head's idle tail; 0 where it has none.
  [[nodiscard]] std::int32_t count(PageId head) const noexcept { return at(head).count; }
  /// The last page of the head's idle tail; only while it has one.
  [[nodiscard]] PageId last(PageId head) const noexcept { return at(head).last; }
  /// The page before one of an idle tail: the head before the first.
  [[nodiscard]] PageId before(PageId page) const noexcept {
    return before_[static_cast<std::size_t>(page)];
  }

  /// Leaves the head an idle tail of these pages, of which there is at least one.
  void leave(PageId head, std::span<const PageId> pages);
  /// Takes the last page away.
  void pop(PageId head) {
    Tail& tail = at(head);
    if (tail.count == 0) internal_error("a page is taken from a tail that has none");
    tail.last = std::exchange(before_[static_cast<std::size_t>(tail.last)], kOut);
    __builtin_prefetch(&before_[static_cast<std::size_t>(tail.last)], 1);
    --tail.count;
    --idle_;
  }

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

  std::vector<Tail> tails_;     // by head
  std::vector<PageId> before_;  // by page
  std::int32_t idle_ = 0;
};

}  // namespace weft
