#include "weft/schedule/adapters/adapter_places.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

std::size_t index_of(RequestClass cls) { return static_cast<std::size_t>(cls); }

const AdapterId& adapter_of(const Group& group) { return group.spec.traits.kv.adapter; }

}  // namespace

std::size_t AdapterPlaces::IdHash::operator()(const AdapterId& id) const noexcept {
  std::size_t hash = 0;  // the id is a hash itself
  std::memcpy(&hash, id.bytes.data(), sizeof(hash));
  return hash;
}

AdapterPlaces::AdapterPlaces(const PlanClock& clock, std::int32_t places)
    : clock_(clock),
      places_(static_cast<std::size_t>(places)),
      waits_(places > 0 ? kExpectedWaits : 0) {
  loads_.reserve(places_.size());
}

void AdapterPlaces::arrive(const Group& group) {
  if (!adapter_of(group)) return;
  Slot slot = waits_.find(adapter_of(group));
  if (slot == kNoSlot) {
    slot = waits_.insert(adapter_of(group), {.place = place_of(adapter_of(group))});
  }
  ++waits_[slot].groups[index_of(group.cls)];
}

void AdapterPlaces::leave(const Group& group) {
  if (!adapter_of(group)) return;
  const Slot slot = waits_.find(adapter_of(group));
  if (slot == kNoSlot) internal_error("a group leaves whose adapter is not waited for");
  Wait& wait = waits_[slot];
  --wait.groups[index_of(group.cls)];
  note_change();
  if (std::ranges::max(wait.groups) > 0) {
    const bool has_chat = wait.groups[index_of(RequestClass::kChat)] > 0;
    if (!has_chat && wait.reserved != kNoPlace) at(wait.reserved).next_for = RequestClass::kBatch;
    return;
  }
  if (wait.reserved != kNoPlace) at(wait.reserved).next = nullptr;
  waits_.erase(slot);
}

void AdapterPlaces::begin(Group& group) {
  if (!adapter_of(group)) return;
  const std::int32_t place = place_of(adapter_of(group));
  if (place == kNoPlace || !at(place).is_ready || at(place).next) {
    internal_error("a group begins without its adapter");
  }
  group.adapter_place = place;
  ++at(place).users[index_of(group.cls)];
}

void AdapterPlaces::release(Group& group) {
  if (group.adapter_place == kNoPlace) return;
  Place& place = at(std::exchange(group.adapter_place, kNoPlace));
  --place.users[index_of(group.cls)];
  place.newest = clock_.newest();
  place.turn = ++turns_;
  note_change();
}

bool AdapterPlaces::has(const Group& group) const {
  if (!adapter_of(group)) return true;
  const Slot slot = waits_.find(adapter_of(group));
  if (slot == kNoSlot || waits_[slot].place == kNoPlace) return false;
  const Place& place = at(waits_[slot].place);
  return place.is_ready && !place.next;
}

void AdapterPlaces::want(const Group& group, bool insists) {
  if (!adapter_of(group)) return;
  Wait& wait = waits_[waits_.find(adapter_of(group))];
  // Chat does not wait as long as `batch` where `batch` was the first to ask for the adapter.
  if (wait.reserved != kNoPlace) at(wait.reserved).ask(group.cls);
  // An adapter that leaves its place gets another one once it has left: it is never in two.
  if (wait.place != kNoPlace || wait.reserved != kNoPlace) return;
  std::int32_t found = unused_place(group.cls);
  if (found == kNoPlace && group.cls == RequestClass::kChat) found = place_of_batch();
  if (found == kNoPlace && insists) found = place_to_close(group.cls);
  if (found == kNoPlace) return;
  at(found).next = group.spec.adapter;
  at(found).next_for = group.cls;
  wait.reserved = found;
}

bool AdapterPlaces::is_loading(const Group& group) const {
  const bool waits = !group.done && group.phase == GroupPhase::kWaiting && adapter_of(group);
  const Slot slot = waits ? waits_.find(adapter_of(group)) : kNoSlot;
  return slot != kNoSlot && waits_[slot].place != kNoPlace && at(waits_[slot].place).is_loading();
}

bool AdapterPlaces::gives_way(const Group& group) const {
  if (group.adapter_place == kNoPlace || group.cls != RequestClass::kBatch) return false;
  const Place& place = at(group.adapter_place);
  return place.next && place.next_for == RequestClass::kChat &&
         place.users[index_of(RequestClass::kChat)] == 0;
}

std::int32_t AdapterPlaces::place_of(const AdapterId& adapter) const {
  const auto found = std::ranges::find(places_, adapter, &Place::adapter);
  return found == places_.end() ? kNoPlace : static_cast<std::int32_t>(found - places_.begin());
}

/// Whether groups wait for the place's adapter that go before a group of this class, or beside it.
bool AdapterPlaces::is_waited_for(const Place& place, RequestClass by) const {
  const Slot slot = place.adapter ? waits_.find(place.adapter) : kNoSlot;
  if (slot == kNoSlot) return false;
  const ByClass& groups = waits_[slot].groups;
  return std::any_of(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(by) + 1,
                     [](std::int32_t count) { return count > 0; });
}

/// Returns the place that nobody is to get which has the least of what `cost` returns; it returns
/// none for places that do not come into question.
template <class Cost>
std::int32_t AdapterPlaces::best_place(Cost&& cost) const {
  std::int32_t best = kNoPlace;
  decltype(cost(places_.front())) least;
  for (const Place& place : places_) {
    if (place.next || place.is_loading()) continue;
    const auto its = cost(place);
    if (!its || (least && *least <= *its)) continue;
    least = its;
    best = static_cast<std::int32_t>(&place - places_.data());
  }
  return best;
}

std::int32_t AdapterPlaces::unused_place(RequestClass cls) {
  if (is_full_[index_of(cls)]) return kNoPlace;
  using Turn = std::optional<std::uint64_t>;
  const std::int32_t found = best_place([&](const Place& place) {
    return place.is_used() || is_waited_for(place, cls) ? Turn() : Turn(place.turn);
  });
  is_full_[index_of(cls)] = found == kNoPlace;
  return found;
}

/// Returns the place of an adapter that `batch` alone uses, with the fewest groups.
std::int32_t AdapterPlaces::place_of_batch() const {
  using Groups = std::optional<std::int32_t>;
  return best_place([&](const Place& place) {
    const bool has_chat =
        place.users[index_of(RequestClass::kChat)] > 0 || is_waited_for(place, RequestClass::kChat);
    return has_chat ? Groups() : Groups(place.users[index_of(RequestClass::kBatch)]);
  });
}

/// Returns the used place with the fewest groups. None of `chat` is closed for `batch`.
std::int32_t AdapterPlaces::place_to_close(RequestClass cls) const {
  using Groups = std::optional<std::int32_t>;
  return best_place([&](const Place& place) {
    const bool is_better =
        cls == RequestClass::kBatch && (place.users[index_of(RequestClass::kChat)] > 0 ||
                                        is_waited_for(place, RequestClass::kChat));
    return place.is_used() && !is_better ? Groups(place.users[0] + place.users[1]) : Groups();
  });
}

bool AdapterPlaces::begin_loads() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (place.next && !place.is_used() && place.newest <= clock_.over()) {
      load(static_cast<std::int32_t>(i));
    }
  }
  return !loads_.empty() || (loading_ > 0 && clock_.over() == clock_.newest());
}

void AdapterPlaces::load(std::int32_t index) {
  Place& place = at(index);
  if (place.adapter) move_wait(place.adapter, kNoPlace);
  place.adapter = place.next->id;
  place.is_ready = false;
  place.loaded_by = clock_.making();
  move_wait(place.adapter, index);
  stats_.bytes += static_cast<std::uint64_t>(place.next->bytes);
  ++stats_.loads;
  ++loading_;
  loads_.push_back({index, std::exchange(place.next, nullptr)});
}

/// Notes for those that wait for an adapter where it is now.
void AdapterPlaces::move_wait(const AdapterId& adapter, std::int32_t place) {
  const Slot slot = waits_.find(adapter);
  if (slot == kNoSlot) return;
  waits_[slot].place = place;
  if (place != kNoPlace) waits_[slot].reserved = kNoPlace;
}

void AdapterPlaces::write(Plan& plan) {
  for (PlanAdapter& one : loads_) plan.adapters.push_back(std::move(one));
  loads_.clear();
}

bool AdapterPlaces::take(const Tick& tick) {
  bool any = false;
  for (const std::int32_t index : tick.result.adapters) {
    if (index < 0 || index >= size()) internal_error("a device names a place that it lacks");
    Place& place = at(index);
    // A device may speak of a load whose step was lost, or of an earlier scheduler's.
    if (!place.is_loading() || tick.plan.tick < place.loaded_by) continue;
    place.is_ready = true;
    place.turn = ++turns_;
    --loading_;
    any = true;
  }
  if (any) note_change();
  return any;
}

void AdapterPlaces::forget_loads() {
  for (Place& place : places_) {
    if (!place.is_loading()) continue;
    move_wait(place.adapter, kNoPlace);
    place.adapter = {};
  }
  loading_ = 0;
  note_change();
}

AdapterStats AdapterPlaces::stats() const noexcept {
  AdapterStats stats = stats_;
  stats.waiting = static_cast<std::int32_t>(waits_.size());
  stats.running = static_cast<std::int32_t>(std::ranges::count_if(places_, &Place::is_used));
  return stats;
}

void AdapterPlaces::check(std::span<Group* const> groups) const {
  std::vector<ByClass> users(places_.size());
  for (const Group* const group : groups) {
    if (!adapter_of(*group)) continue;
    const bool runs = !group->done && group->phase != GroupPhase::kWaiting;
    if (runs != (group->adapter_place != kNoPlace)) internal_error("a group lacks its adapter");
    if (!runs) continue;
    const Place& place = at(group->adapter_place);
    if (place.adapter != adapter_of(*group) || !place.is_ready) {
      internal_error("a place has another adapter than its users");
    }
    ++users[static_cast<std::size_t>(group->adapter_place)][index_of(group->cls)];
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (users[i] != place.users) internal_error("the users of an adapter are miscounted");
    const bool is_last = !place.adapter || place_of(place.adapter) == static_cast<std::int32_t>(i);
    if (!is_last) internal_error("an adapter is in two places");
  }
}

}  // namespace weft
