#pragma once

#include <cstdint>
#include <vector>

#include "weft/gpu/plan.h"
#include "weft/schedule/memory/tiers/node_places.h"

namespace weft {

/// Host memory as a tier: its places, and the copies that plans have to make between pages and
/// places. Places are only numbers here, and the device has their memory.
///
/// Owner only. It allocates in the constructor, and where `copies` has no room.
class HostPlaces final : public NodePlaces {
 public:
  /// `places` of them, numbered from `first` on. Copies are appended to `copies`, which outlives
  /// it; it may be null where there are no places.
  HostPlaces(PageId first, std::int32_t places, std::vector<PlanCopy>* copies)
      : NodePlaces(first, places), copies_(copies) {}

  /// Has the next plan copy a page into a free place, and returns the place; kNoPage where there is
  /// none.
  [[nodiscard]] PageId store(PageId page) {
    const PageId place = take();
    if (place == kNoPage) return kNoPage;
    copies_->push_back({page, place});
    ++stored_;
    return place;
  }
  /// Has the next plan copy what lies in a place into a page.
  void fetch(PageId place, PageId page) {
    copies_->push_back({place, page});
    ++fetched_;
  }

  /// Pages that were copied here, and back, since the beginning.
  [[nodiscard]] std::uint64_t stored() const noexcept { return stored_; }
  [[nodiscard]] std::uint64_t fetched() const noexcept { return fetched_; }

 private:
  std::vector<PlanCopy>* const copies_;
  std::uint64_t stored_ = 0;
  std::uint64_t fetched_ = 0;
};

}  // namespace weft
