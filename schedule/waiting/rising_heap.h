#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "weft/schedule/waiting/keyed_pool.h"

namespace weft {

/// A binary heap of slots, least key first, whose keys rise without the heap being told. An entry
/// keeps the key that was seen last, which is never above the true one; whoever looks gives a
/// function `true_key(slot)`, and only entries that reach the top of what is looked at are brought
/// up to date. So a rise costs nothing when it happens, and at most one sift when it matters.
///
/// `Key` has operator<. Owner only. Allocates when it holds more slots, or a higher slot, than ever
/// before and than were `expected`.
template <class Key>
class RisingHeap {
 public:
  explicit RisingHeap(std::size_t expected) {
    entries_.reserve(expected);
    places_.reserve(expected);
    frontier_.reserve(kExpectedVisits);
  }

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// A slot that is not in the heap, with a key that is not above the true one.
  void insert(Slot slot, const Key& key) {
    const auto index = static_cast<std::size_t>(slot);
    if (index >= places_.size()) places_.resize(index + 1);
    entries_.push_back({key, slot});
    places_[index] = entries_.size() - 1;
    sift_up(entries_.size() - 1);
  }

  void erase(Slot slot) noexcept {
    const std::size_t place = place_of(slot);
    const std::size_t last = entries_.size() - 1;
    if (place != last) swap_entries(place, last);
    entries_.pop_back();
    if (place != last) sift(place);
  }

  /// The key as it was seen last.
  [[nodiscard]] const Key& key(Slot slot) const noexcept { return entries_[place_of(slot)].key; }

  /// Another key, lower or higher, that is not above the true one.
  void set_key(Slot slot, const Key& key) noexcept {
    entries_[place_of(slot)].key = key;
    sift(place_of(slot));
  }

  /// The slot of the least true key. The heap is not empty.
  template <class TrueKey>
  Slot top(TrueKey&& true_key) {
    settle(0, true_key);
    return entries_.front().slot;
  }

  /// Calls visit(slot) in the order of true keys until it returns false. With k visits it looks at
  /// 2k + 1 entries.
  template <class TrueKey, class Visit>
  void visit_in_order(TrueKey&& true_key, Visit&& visit) {
    const auto later = [this](std::size_t a, std::size_t b) {
      return entries_[b].key < entries_[a].key;
    };
    // The frontier: tops of subtrees that are not visited, all with true keys. What settling a
    // subtree changes lies inside of it.
    const auto reach = [&](std::size_t place) {
      if (place >= entries_.size()) return;
      settle(place, true_key);
      frontier_.push_back(place);
      std::ranges::push_heap(frontier_, later);
    };
    frontier_.clear();
    reach(0);
    while (!frontier_.empty()) {
      std::ranges::pop_heap(frontier_, later);
      const std::size_t place = frontier_.back();
      frontier_.pop_back();
      if (!visit(entries_[place].slot)) return;
      reach(2 * place + 1);
      reach(2 * place + 2);
    }
  }

 private:
  struct Entry {
    Key key;
    Slot slot;
  };

  /// Room for a look at this many at once; more allocates the first time.
  static constexpr std::size_t kExpectedVisits = 64;

  std::size_t& place_of(Slot slot) noexcept { return places_[static_cast<std::size_t>(slot)]; }
  const std::size_t& place_of(Slot slot) const noexcept {
    return places_[static_cast<std::size_t>(slot)];
  }

  void swap_entries(std::size_t a, std::size_t b) noexcept {
    std::swap(entries_[a], entries_[b]);
    place_of(entries_[a].slot) = a;
    place_of(entries_[b].slot) = b;
  }

  /// Until the entry at `place` has its true key, which is then the least of its subtree: all
  /// others' true keys are not below the keys that are known.
  template <class TrueKey>
  void settle(std::size_t place, TrueKey& true_key) {
    for (;;) {
      Key key = true_key(entries_[place].slot);
      if (!(entries_[place].key < key)) return;
      entries_[place].key = std::move(key);
      if (!sift_down(place)) return;
    }
  }

  void sift(std::size_t place) noexcept {
    if (!sift_down(place)) sift_up(place);
  }

  void sift_up(std::size_t place) noexcept {
    while (place > 0 && entries_[place].key < entries_[(place - 1) / 2].key) {
      swap_entries(place, (place - 1) / 2);
      place = (place - 1) / 2;
    }
  }

  /// Whether the entry moved.
  bool sift_down(std::size_t place) noexcept {
    const std::size_t begin = place;
    for (std::size_t child = 2 * place + 1; child < entries_.size(); child = 2 * place + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1].key < entries_[child].key) ++child;
      if (!(entries_[child].key < entries_[place].key)) break;
      swap_entries(place, child);
      place = child;
    }
    return place != begin;
  }

  std::vector<Entry> entries_;
  std::vector<std::size_t> places_;    // by slot; of slots that are not in the heap, anything
  std::vector<std::size_t> frontier_;  // of the visit under way
};

}  // namespace weft
