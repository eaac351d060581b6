#pragma once

#include <cstdint>
#include <vector>

#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/page_pool.h"

namespace weft {

/// The places for pages in host memory: which are free, and in which order the others were taken. A
/// place has a number behind those of the device's pages, as in PlanCopy. Hollow nodes of
/// PrefixCache are places as well, with numbers of their own and no memory.
///
/// Owner only; a part of PrefixCache. It allocates in the constructor, and each call takes the same
/// time. Misuse is an internal_error.
class HostPlaces {
 public:
  static constexpr PageId kNone = -1;

  /// `places` of them, numbered from `pages` on.
  HostPlaces(std::int32_t pages, std::int32_t places);

  [[nodiscard]] std::int32_t size() const noexcept { return size_; }
  [[nodiscard]] std::int32_t taken() const noexcept { return taken_.size(); }
  [[nodiscard]] bool is_taken(PageId place) const noexcept {
    return taken_.contains(place - first_);
  }
  /// The place that was taken longest ago and is not held; kNone where there is none.
  [[nodiscard]] PageId oldest() const noexcept {
    return taken_.size() == 0 ? kNone : first_ + taken_.oldest();
  }

  /// Takes a free place; kNone where there is none.
  [[nodiscard]] PageId take();
  /// Frees a place that is taken.
  void drop(PageId place);
  /// A taken place counts as taken just now.
  void touch(PageId place) {
    taken_.remove(place - first_);
    taken_.add(place - first_);
  }
  /// A taken place that is held is neither the oldest nor dropped, until it is let go, as if it had
  /// just been taken, or freed.
  void hold(PageId place) { taken_.remove(place - first_); }
  void let_go(PageId place) { taken_.add(place - first_); }
  void free_held(PageId place);

  /// Checks that no place is lost; internal_error where one is. For tests: none may be held.
  void check() const;

 private:
  const PageId first_;
  const std::int32_t size_;
  std::vector<PageId> free_;
  IdlePages taken_;  // by place less first_
};

}  // namespace weft
