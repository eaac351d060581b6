#pragma once

#include <cstdint>
#include <vector>

#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/tiers/page_tier.h"

namespace weft {

/// A tier below the device: which places are free, and in which order the others were used. Places
/// are numbered behind the device's pages, as in PlanCopy, and a node has the number of its place.
/// In host memory (HostPlaces) a place has room for a page; the place of a hollow node has none.
///
/// Owner only. It allocates in the constructor, and each call takes the same time. Misuse is an
/// internal_error.
class NodePlaces : public PageTier {
 public:
  /// `places` of them, numbered from `first` on.
  NodePlaces(PageId first, std::int32_t places);

  [[nodiscard]] std::int32_t free() const noexcept {
    return static_cast<std::int32_t>(free_.size());
  }
  /// Places that are taken and not held.
  [[nodiscard]] std::int32_t taken() const noexcept { return taken_.size(); }
  [[nodiscard]] bool is_taken(PageId place) const noexcept {
    return taken_.contains(place - first());
  }
  [[nodiscard]] PageId oldest() const noexcept override {
    return taken_.size() == 0 ? kNoPage : first() + taken_.oldest();
  }

  /// Takes a free place; kNoPage where there is none.
  [[nodiscard]] PageId take();
  /// The place must be taken, and not held.
  void touch(PageId place) override {
    taken_.remove(place - first());
    taken_.add(place - first());
  }
  /// One at most holds a place.
  void hold(PageId place) override { taken_.remove(place - first()); }
  void let_go(PageId place) override { taken_.add(place - first()); }
  /// Frees a place that is taken, or held.
  void drop(PageId place) override;

  /// Checks that no place is lost, of which so many are held; internal_error where one is. For
  /// tests.
  void check(std::int32_t held = 0) const;

 private:
  std::vector<PageId> free_;
  IdlePages taken_;  // by place less first()
};

}  // namespace weft
