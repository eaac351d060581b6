#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/gpu/step_device.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/sequence/sequence.h"

namespace weft {

/// What the plan in the making makes findable before it is sure (PrefixKeeper::offer). Owner only;
/// it allocates in the constructor.
class PageOffers {
 public:
  /// What one sequence offers.
  struct Offer {
    Sequence* sequence = nullptr;
    std::int32_t findable_before = 0;  ///< its `PageTable::findable`, without the offer
  };

  /// Without `keeps` nothing is offered.
  PageOffers(const DeviceLimits& limits, bool keeps) {
    if (!keeps) return;
    const auto rows = static_cast<std::size_t>(limits.rows);
    offers_.reserve(rows);
    pages_.reserve(rows + static_cast<std::size_t>(limits.pages_per_step()));
  }

  void add(Sequence& sequence, std::int32_t findable_before) {
    offers_.push_back({&sequence, findable_before});
  }
  /// The page is kept for an offer.
  void add_page(PageId page) { pages_.push_back(page); }
  void clear() noexcept {
    offers_.clear();
    pages_.clear();
  }

  [[nodiscard]] std::span<const Offer> all() const noexcept { return offers_; }
  /// Pages of all offers, in the order in which they were kept.
  [[nodiscard]] std::span<const PageId> pages() const noexcept { return pages_; }
  /// What the sequence offers; null: nothing.
  [[nodiscard]] const Offer* of(const Sequence& sequence) const noexcept {
    const auto offer = std::ranges::find(offers_, &sequence, &Offer::sequence);
    return offer == offers_.end() ? nullptr : &*offer;
  }

 private:
  std::vector<Offer> offers_;
  std::vector<PageId> pages_;
};

}  // namespace weft
