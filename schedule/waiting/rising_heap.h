#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "weft/schedule/waiting/keyed_pool.h"

namespace weft {

/// A binary heap of slots, least key first, whose keys may rise without notice. An entry stores the
/// last seen key, which is never above the true one. Look-ups take a function `true_key(slot)` and
/// update only entries that reach the top of the part they read. So a rise costs nothing when it
/// happens, and at most one sift when it matters.
///
/// `Key` has operator<. Owner only. Allocates when it holds more slots, or a higher slot, than ever
/// before and than `expected`.
template <class Key>
class RisingHeap {
 public:
  explicit RisingHeap(std::size_t expected) {
    entries_.reserve(expected);
    indices_.reserve(expected);
    frontier_.reserve(kExpectedVisits);
  }

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// Inserts a slot that is not in the heap, with a key not above the true one.
  void insert(Slot slot, const Key& key) {
    const auto index = static_cast<std::size_t>(slot);
    if (index >= indices_.size()) indices_.resize(index + 1);
    entries_.push_back({key, slot});
    indices_[index] = entries_.size() - 1;
    sift_up(entries_.size() - 1);
  }

  void erase(Slot slot) noexcept {
    const std::size_t index = index_of(slot);
    const std::size_t last = entries_.size() - 1;
    if (index != last) swap_entries(index, last);
    entries_.pop_back();
    if (index != last) sift(index);
  }

  /// The last seen key.
  [[nodiscard]] const Key& key(Slot slot) const noexcept { return entries_[index_of(slot)].key; }

  /// Replaces a slot's key by a lower or higher key that is not above the true one.
  void set_key(Slot slot, const Key& key) noexcept {
    entries_[index_of(slot)].key = key;
    sift(index_of(slot));
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
    // The frontier: tops of subtrees not yet visited, all with true keys. Settling a subtree
    // changes entries inside it only.
    const auto reach = [&](std::size_t index) {
      if (index >= entries_.size()) return;
      settle(index, true_key);
      frontier_.push_back(index);
      std::ranges::push_heap(frontier_, later);
    };
    frontier_.clear();
    reach(0);
    while (!frontier_.empty()) {
      std::ranges::pop_heap(frontier_, later);
      const std::size_t index = frontier_.back();
      frontier_.pop_back();
      if (!visit(entries_[index].slot)) return;
      reach(2 * index + 1);
      reach(2 * index + 2);
    }
  }

 private:
  struct Entry {
    Key key;
    Slot slot;
  };

  /// Room for a frontier of so many entries; a larger one allocates once.
  static constexpr std::size_t kExpectedVisits = 64;

  std::size_t& index_of(Slot slot) noexcept { return indices_[static_cast<std::size_t>(slot)]; }
  const std::size_t& index_of(Slot slot) const noexcept {
    return indices_[static_cast<std::size_t>(slot)];
  }

  void swap_entries(std::size_t a, std::size_t b) noexcept {
    std::swap(entries_[a], entries_[b]);
    index_of(entries_[a].slot) = a;
    index_of(entries_[b].slot) = b;
  }

  /// Moves entries down until the entry at `index` has its true key. That key is then the least of
  /// its subtree, since true keys are never below stored keys.
  template <class TrueKey>
  void settle(std::size_t index, TrueKey& true_key) {
    for (;;) {
      Key key = true_key(entries_[index].slot);
      if (!(entries_[index].key < key)) return;
      entries_[index].key = std::move(key);
      if (!sift_down(index)) return;
    }
  }

  void sift(std::size_t index) noexcept {
    if (!sift_down(index)) sift_up(index);
  }

  void sift_up(std::size_t index) noexcept {
    while (index > 0 && entries_[index].key < entries_[(index - 1) / 2].key) {
      swap_entries(index, (index - 1) / 2);
      index = (index - 1) / 2;
    }
  }

  /// Whether the entry moved.
  bool sift_down(std::size_t index) noexcept {
    const std::size_t begin = index;
    for (std::size_t child = 2 * index + 1; child < entries_.size(); child = 2 * index + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1].key < entries_[child].key) ++child;
      if (!(entries_[child].key < entries_[index].key)) break;
      swap_entries(index, child);
      index = child;
    }
    return index != begin;
  }

  std::vector<Entry> entries_;
  std::vector<std::size_t> indices_;   // by slot; arbitrary for slots outside the heap
  std::vector<std::size_t> frontier_;  // the current visit's
};

}  // namespace weft
