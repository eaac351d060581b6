#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace weft {

/// A small number that identifies a value of a KeyedPool while the pool contains it.
using Slot = std::int32_t;
inline constexpr Slot kNoSlot = -1;

/// Values found by a key in constant time, each in a slot of one vector: a hash table with chains.
/// Unlike std::unordered_map it allocates nothing until it holds more values than were `expected`,
/// and then at each doubling. References are valid until the next insert. Owner only.
template <class Key, class Value, class Hash = std::hash<Key>>
class KeyedPool {
 public:
  explicit KeyedPool(std::size_t expected)
      : buckets_(std::bit_ceil(expected < 1 ? std::size_t{1} : expected), kNoSlot) {
    entries_.reserve(buckets_.size());
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The slot of the key's value, or kNoSlot.
  [[nodiscard]] Slot find(const Key& key) const noexcept {
    Slot slot = buckets_[bucket_of(key)];
    while (slot != kNoSlot && !(entry(slot).key == key)) slot = entry(slot).next;
    return slot;
  }

  /// A new value for a key that has none.
  Slot insert(const Key& key, Value value) {
    if (size_ == buckets_.size()) double_buckets();
    if (free_ == kNoSlot) {
      entries_.push_back({key, std::move(value), kNoSlot});
      link(static_cast<Slot>(entries_.size() - 1));
      ++size_;
      return static_cast<Slot>(entries_.size() - 1);
    }
    const Slot slot = free_;
    free_ = entry(slot).next;
    entry(slot) = {key, std::move(value), kNoSlot};
    link(slot);
    ++size_;
    return slot;
  }

  /// Removes a value; its slot is then free for another.
  void erase(Slot slot) noexcept {
    Slot* link = &buckets_[bucket_of(entry(slot).key)];
    while (*link != slot) link = &entry(*link).next;
    *link = entry(slot).next;
    entry(slot).next = free_;
    free_ = slot;
    --size_;
  }

  [[nodiscard]] Value& operator[](Slot slot) noexcept { return entry(slot).value; }
  [[nodiscard]] const Value& operator[](Slot slot) const noexcept { return entry(slot).value; }

 private:
  struct Entry {
    Key key;
    Value value;
    Slot next;  // in its bucket's chain, or in the list of free slots
  };

  Entry& entry(Slot slot) noexcept { return entries_[static_cast<std::size_t>(slot)]; }
  const Entry& entry(Slot slot) const noexcept { return entries_[static_cast<std::size_t>(slot)]; }

  /// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4): the high
  /// bits of a product with 2^64 over the golden ratio spread keys that count up.
  [[nodiscard]] std::size_t bucket_of(const Key& key) const noexcept {
    const std::uint64_t product = static_cast<std::uint64_t>(Hash{}(key)) * 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(product >> 32U) & (buckets_.size() - 1);
  }

  void link(Slot slot) noexcept {
    Slot& first = buckets_[bucket_of(entry(slot).key)];
    entry(slot).next = std::exchange(first, slot);
  }

  /// Called only when all slots are used, so it links every slot anew.
  void double_buckets() {
    buckets_.assign(2 * buckets_.size(), kNoSlot);
    entries_.reserve(buckets_.size());
    for (std::size_t slot = 0; slot < entries_.size(); ++slot) link(static_cast<Slot>(slot));
  }

  std::vector<Slot> buckets_;  // the first slot of each chain; the size is a power of two
  std::vector<Entry> entries_;
  Slot free_ = kNoSlot;
  std::size_t size_ = 0;
};

}  // namespace weft
