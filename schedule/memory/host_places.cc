#include "weft/schedule/memory/host_places.h"

#include <cstddef>

#include "weft/core/error/internal_error.h"

namespace weft {

HostPlaces::HostPlaces(std::int32_t pages, std::int32_t places)
    : first_(pages), size_(places), taken_(places) {
  free_.reserve(static_cast<std::size_t>(places));
  for (PageId place = first_ + places - 1; place >= first_; --place) free_.push_back(place);
}

PageId HostPlaces::take() {
  if (free_.empty()) return kNone;
  const PageId place = free_.back();
  free_.pop_back();
  taken_.add(place - first_);
  return place;
}

void HostPlaces::drop(PageId place) {
  taken_.remove(place - first_);
  free_.push_back(place);
}

void HostPlaces::free_held(PageId place) {
  if (is_taken(place)) internal_error("a place is freed that is not held");
  free_.push_back(place);
}

void HostPlaces::check() const {
  std::vector<bool> seen(static_cast<std::size_t>(size_));
  for (const PageId place : free_) {
    const auto index = static_cast<std::size_t>(place - first_);
    if (seen[index] || is_taken(place)) internal_error("a place in host memory is free twice");
    seen[index] = true;
  }
  if (static_cast<std::int32_t>(free_.size()) + taken() != size_) {
    internal_error("a place in host memory is lost");
  }
}

}  // namespace weft
