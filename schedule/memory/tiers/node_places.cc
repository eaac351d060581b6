#include "weft/schedule/memory/tiers/node_places.h"

#include <cstddef>

#include "weft/core/error/internal_error.h"

namespace weft {

NodePlaces::NodePlaces(PageId first, std::int32_t places)
    : PageTier(first, places), taken_(places) {
  free_.reserve(static_cast<std::size_t>(places));
  for (PageId place = end() - 1; place >= first; --place) free_.push_back(place);
}

PageId NodePlaces::take() {
  if (free_.empty()) return kNoPage;
  const PageId place = free_.back();
  free_.pop_back();
  taken_.add(place - first());
  return place;
}

void NodePlaces::drop(PageId place) {
  if (is_taken(place)) {
    taken_.remove(place - first());
  } else if (free() + taken() == size()) {
    internal_error("a place is freed that is neither taken nor held");
  }
  free_.push_back(place);
}

void NodePlaces::check(std::int32_t held) const {
  std::vector<bool> seen(static_cast<std::size_t>(size()));
  for (const PageId place : free_) {
    const auto index = static_cast<std::size_t>(place - first());
    if (seen[index] || is_taken(place)) internal_error("a node's place is free twice");
    seen[index] = true;
  }
  if (free() + taken() + held != size()) internal_error("a node's place is lost");
}

}  // namespace weft
