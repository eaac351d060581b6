#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace weft::grammar {

/// A list that only grows and whose elements never move, so that a thread may read an element while
/// another one appends. One thread appends at a time; a reader gets an element's index from the
/// appending thread, by a release and an acquire. At most kMostElements.
template <class T>
class GrowingList {
 public:
  static constexpr std::size_t kMostElements = (std::size_t{1} << 26U) - 64;

  [[nodiscard]] T& operator[](std::size_t index) {
    const auto [chunk, offset] = place_of(index);
    return chunks_[chunk][offset];
  }
  [[nodiscard]] const T& operator[](std::size_t index) const {
    const auto [chunk, offset] = place_of(index);
    return chunks_[chunk][offset];
  }

  /// Appends a default-constructed element. When memory runs out, the list is unchanged.
  T& grow() {
    const auto [chunk, offset] = place_of(size_);
    if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_unique<T[]>(kFirst << chunk);
    ++size_;
    return chunks_[chunk][offset];
  }

  /// May be called by the appending thread only.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  // Each chunk is twice as long as the one before: 64, 128, ...
  static constexpr std::size_t kFirst = 64;
  static constexpr std::size_t kFirstBits = 7;  // binary logarithm of kFirst
  static constexpr std::size_t kChunks = 20;
  static_assert((kFirst << kChunks) - kFirst == kMostElements);

  static constexpr std::pair<std::size_t, std::size_t> place_of(std::size_t index) {
    const std::size_t from = index + kFirst;
    const std::size_t chunk = static_cast<std::size_t>(std::bit_width(from)) - kFirstBits;
    return {chunk, from - (kFirst << chunk)};
  }

  std::array<std::unique_ptr<T[]>, kChunks> chunks_;
  std::size_t size_ = 0;
};

}  // namespace weft::grammar
