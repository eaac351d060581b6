#pragma once

#include <cstdint>
#include <vector>

#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/prefix/prefix_scope.h"

namespace weft {

/// The places that nodes of the tree can have below the device's pages, in one tier of PrefixCache:
/// which are free, and in which order the others were used. Places are numbered behind the device's
/// pages, as in PlanCopy, and a node has the number of its place. In host memory a place has room
/// for a page; the place of a hollow node has none.
///
/// Owner only; a part of PrefixCache. It allocates in the constructor, and each call takes the same
/// time. Misuse is an internal_error.
class NodePlaces {
 public:
  /// `places` of them, numbered from `first` on.
  NodePlaces(PageId first, std::int32_t places);

  [[nodiscard]] PageId first() const noexcept { return first_; }
  [[nodiscard]] std::int32_t size() const noexcept { return size_; }
  /// The number behind the last place.
  [[nodiscard]] PageId end() const noexcept { return first_ + size_; }
  [[nodiscard]] std::int32_t free() const noexcept {
    return static_cast<std::int32_t>(free_.size());
  }
  /// Places that are taken and not held.
  [[nodiscard]] std::int32_t taken() const noexcept { return taken_.size(); }
  [[nodiscard]] bool is_taken(PageId place) const noexcept {
    return taken_.contains(place - first_);
  }
  /// The place that was used longest ago and is not held; kNoPage where there is none.
  [[nodiscard]] PageId oldest() const noexcept {
    return taken_.size() == 0 ? kNoPage : first_ + taken_.oldest();
  }

  /// Takes a free place; kNoPage where there is none.
  [[nodiscard]] PageId take();
  /// Frees a place that is taken, or held.
  void drop(PageId place);
  /// A taken place counts as used just now.
  void touch(PageId place) {
    taken_.remove(place - first_);
    taken_.add(place - first_);
  }
  /// A taken place that is held is not the oldest, until it is let go, as if it had just been used,
  /// or dropped.
  void hold(PageId place) { taken_.remove(place - first_); }
  void let_go(PageId place) { taken_.add(place - first_); }

  /// Checks that no place is lost, of which so many are held; internal_error where one is. For
  /// tests.
  void check(std::int32_t held = 0) const;

 private:
  const PageId first_;
  const std::int32_t size_;
  std::vector<PageId> free_;
  IdlePages taken_;  // by place less first_
};

}  // namespace weft
