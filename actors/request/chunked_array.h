#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>

namespace weft {

/// An array that only grows, in chunks of doubling length, so that its elements never move. One
/// thread appends while another copies published elements. The owner publishes the size in its own
/// atomic; this class has none.
template <class T>
class ChunkedArray {
 public:
  /// Has room for `first` elements (at least one) from the start.
  explicit ChunkedArray(std::size_t first) : first_(std::max<std::size_t>(first, 1)) { grow(0); }

  /// The number of elements; for the thread that appends.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Appends. Throws std::bad_alloc; what was appended before then stays, but is not counted.
  void append(std::span<const T> values) {
    std::size_t end = size_;
    while (!values.empty()) {
      const Place place = locate(end);
      if (!chunks_[place.chunk]) grow(place.chunk);
      const auto part = values.first(std::min(values.size(), length(place.chunk) - place.offset));
      std::ranges::copy(part, chunks_[place.chunk].get() + place.offset);
      values = values.subspan(part.size());
      end += part.size();
    }
    size_ = end;
  }

  /// Appends the elements from `begin` up to `end` to `out`. For any thread that knows that they
  /// exist.
  template <class Container>
  void copy(std::size_t begin, std::size_t end, Container& out) const {
    out.reserve(out.size() + (end - begin));
    while (begin != end) {
      const Place place = locate(begin);
      const std::size_t count = std::min(end - begin, length(place.chunk) - place.offset);
      const T* const from = chunks_[place.chunk].get() + place.offset;
      out.insert(out.end(), from, from + count);
      begin += count;
    }
  }

 private:
  struct Place {
    std::size_t chunk, offset;
  };

  // Finds an element: chunk k has first * 2^k elements, and first * (2^k - 1) precede it.
  [[nodiscard]] Place locate(std::size_t index) const noexcept {
    const auto chunk = static_cast<std::size_t>(std::bit_width(index / first_ + 1)) - 1;
    return {.chunk = chunk, .offset = index - first_ * ((std::size_t{1} << chunk) - 1)};
  }
  [[nodiscard]] std::size_t length(std::size_t chunk) const noexcept { return first_ << chunk; }
  void grow(std::size_t chunk) {
    chunks_[chunk] = std::make_unique_for_overwrite<T[]>(length(chunk));
  }

  // With one element in the first, 40 chunks hold 2^40.
  std::array<std::unique_ptr<T[]>, 40> chunks_;
  std::size_t first_;
  std::size_t size_ = 0;
};

}  // namespace weft
