#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/memory/page_pool.h"

namespace weft {

/// A page's neighbours in a PageList, or that it is in none.
struct PageLinks {
  static constexpr PageId kEnd = -1;
  static constexpr PageId kOut = -2;

  PageId older = kOut;
  PageId newer = kOut;
};

/// Pages in the order in which they were left, as a list that is linked through `Links`, which says
/// by `links(page)` where a page's are. Owner only; each call takes the same time. Misuse is an
/// internal_error.
template <class Links>
class PageList {
 public:
  /// Made of what makes the Links, in which no page may be in a list yet.
  template <class... Args>
  explicit PageList(Args&&... args) : links_(std::forward<Args>(args)...) {}

  [[nodiscard]] std::int32_t size() const noexcept { return size_; }
  [[nodiscard]] bool contains(PageId page) const noexcept {
    return links_(page).older != PageLinks::kOut;
  }
  /// The page that was left longest ago; only while there is one.
  [[nodiscard]] PageId oldest() const noexcept { return oldest_; }

  /// The page has just been left.
  void add(PageId page) {
    if (contains(page)) internal_error("a page is left that was idle");
    links_(page) = {newest_, PageLinks::kEnd};
    newer_of(newest_) = page;
    newest_ = page;
    ++size_;
  }
  /// The page counts as left right before one that is in the list.
  void add_before(PageId page, PageId newer) {
    if (contains(page) || !contains(newer)) internal_error("a page is left before none, or again");
    const PageId older = std::exchange(links_(newer).older, page);
    links_(page) = {older, newer};
    newer_of(older) = page;
    ++size_;
  }
  /// The page is used again, or given up.
  void remove(PageId page) {
    if (!contains(page)) internal_error("a page is taken that was not idle");
    const PageLinks links = std::exchange(links_(page), {});
    newer_of(links.older) = links.newer;
    (links.newer == PageLinks::kEnd ? newest_ : links_(links.newer).older) = links.older;
    --size_;
  }

 private:
  [[nodiscard]] PageId& newer_of(PageId page) noexcept {
    return page == PageLinks::kEnd ? oldest_ : links_(page).newer;
  }

  Links links_;
  PageId oldest_ = PageLinks::kEnd;
  PageId newest_ = PageLinks::kEnd;
  std::int32_t size_ = 0;
};

/// Links in an array of their own, for the pages 0 .. `pages`-1; the constructor allocates it.
class PageLinkArray {
 public:
  explicit PageLinkArray(std::int32_t pages) : links_(static_cast<std::size_t>(pages)) {}

  [[nodiscard]] const PageLinks& operator()(PageId page) const noexcept {
    return links_[static_cast<std::size_t>(page)];
  }
  [[nodiscard]] PageLinks& operator()(PageId page) noexcept {
    return links_[static_cast<std::size_t>(page)];
  }

 private:
  std::vector<PageLinks> links_;
};

using IdlePages = PageList<PageLinkArray>;

}  // namespace weft
