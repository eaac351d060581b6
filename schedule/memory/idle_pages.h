#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/schedule/memory/page_pool.h"

namespace weft {

/// Pages that are kept though no sequence has them, in the order in which they were left: a list
/// that is linked through an array by page. Owner only; the constructor allocates everything, and
/// each call takes the same time. Misuse is an internal_error.
class IdlePages {
 public:
  /// Of the pages 0 .. `pages`-1 none is idle.
  explicit IdlePages(std::int32_t pages)
      : end_(pages), links_(static_cast<std::size_t>(pages) + 1) {
    for (Link& link : links_) link = {kOut, kOut};
    at(end_) = {end_, end_};
  }

  [[nodiscard]] std::int32_t size() const noexcept { return size_; }
  [[nodiscard]] bool contains(PageId page) const noexcept { return at(page).older != kOut; }
  /// The page that was left longest ago; only while there is one.
  [[nodiscard]] PageId oldest() const noexcept { return at(end_).newer; }

  /// The page has just been left.
  void add(PageId page) {
    if (contains(page)) internal_error("a page is left that was idle");
    const PageId newest = at(end_).older;
    at(page) = {newest, end_};
    at(newest).newer = page;
    at(end_).older = page;
    ++size_;
  }
  /// The page is used again, or given up.
  void remove(PageId page) {
    if (!contains(page)) internal_error("a page is taken that was not idle");
    const Link link = at(page);
    at(link.older).newer = link.newer;
    at(link.newer).older = link.older;
    at(page) = {kOut, kOut};
    --size_;
  }

 private:
  static constexpr PageId kOut = -1;

  struct Link {
    PageId older = kOut;
    PageId newer = kOut;
  };

  [[nodiscard]] const Link& at(PageId page) const noexcept {
    return links_[static_cast<std::size_t>(page)];
  }
  [[nodiscard]] Link& at(PageId page) noexcept { return links_[static_cast<std::size_t>(page)]; }

  const PageId end_;  // stands between the newest and the oldest
  std::int32_t size_ = 0;
  std::vector<Link> links_;  // by page
};

}  // namespace weft
