#include "weft/actors/request/requests_in_flight.h"

#include <utility>
#include <vector>

namespace weft {

EndCause RequestsInFlight::add(ActiveRequest& request, Gate::Holder place) {
  const std::scoped_lock lock(mutex_);
  places_.emplace(&request, std::move(place));
  request.set_owner(shared_from_this());
  return cause_;
}

void RequestsInFlight::end_all(EndCause cause) {
  std::vector<std::shared_ptr<ActiveRequest>> requests;
  {
    const std::scoped_lock lock(mutex_);
    cause_ = cause;
    requests.reserve(places_.size());
    for (const auto& [request, place] : places_) {
      if (auto kept = request->weak_from_this().lock()) requests.push_back(std::move(kept));
    }
  }
  for (const auto& request : requests) request->ask_to_end(cause);
}

void RequestsInFlight::ended(ActiveRequest& request) noexcept {
  Gate::Holder place;  // destroyed without the lock, since the last one calls a waiting function
  {
    const std::scoped_lock lock(mutex_);
    const auto found = places_.find(&request);
    if (found == places_.end()) return;
    place = std::move(found->second);
    places_.erase(found);
  }
}

}  // namespace weft
