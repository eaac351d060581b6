#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::grammar {

/// Finds stored objects by their hash, so that each is stored once. It is a table of the objects'
/// numbers with open addressing. Owner only.
class InternTable {
 public:
  InternTable() : slots_(64, kEmpty) {}

  /// Returns the number for which `same` is true among numbers with this hash; if there is none,
  /// adds and returns the number that `make` returns. `hash_of` gives the hash of a number in the
  /// table.
  template <class Same, class Make, class HashOf>
  std::uint32_t find_or_add(std::uint64_t hash, const Same& same, const Make& make,
                            const HashOf& hash_of) {
    if (2 * (size_ + 1) > slots_.size()) grow(hash_of);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != kEmpty) {
      if (same(slots_[at])) return slots_[at];
      at = (at + 1) & (slots_.size() - 1);
    }
    const std::uint32_t made = make();
    slots_[at] = made;
    ++size_;
    return made;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return slots_.size() * sizeof(std::uint32_t); }

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;

  template <class HashOf>
  void grow(const HashOf& hash_of) {
    std::vector<std::uint32_t> slots(2 * slots_.size(), kEmpty);
    for (const std::uint32_t one : slots_) {
      if (one == kEmpty) continue;
      std::size_t at = hash_of(one) & (slots.size() - 1);
      while (slots[at] != kEmpty) at = (at + 1) & (slots.size() - 1);
      slots[at] = one;
    }
    slots_.swap(slots);
  }

  std::vector<std::uint32_t> slots_;
  std::size_t size_ = 0;
};

/// Mixes a number into a hash (the finalizer of MurmurHash3).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) noexcept {
  hash ^= number + 0x9e3779b97f4a7c15ULL + (hash << 6U) + (hash >> 2U);
  hash ^= hash >> 33U;
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33U);
}

}  // namespace weft::grammar
