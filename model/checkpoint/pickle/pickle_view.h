#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft {

/// The layout of a PyTorch tensor in its storage, in elements. Both vectors have the tensor's rank.
struct StridedView {
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

/// Returns the elements of a row-major tensor of this shape. Nothing on overflow or for a negative
/// dimension.
[[nodiscard]] std::optional<std::int64_t> elements_of(const StridedView& view) noexcept;

/// Returns the elements that a storage must have to contain the view; 0 for a view without
/// elements. Nothing on overflow or for a negative number.
[[nodiscard]] std::optional<std::int64_t> extent_of(const StridedView& view) noexcept;

/// Whether the elements are contiguous in row-major order.
[[nodiscard]] bool is_row_major(const StridedView& view) noexcept;

/// Copies the view's elements of `element_bytes` each into row-major order. `source` is the storage
/// with at least extent_of(view) elements, `target` has room for elements_of(view); they do not
/// overlap.
void copy_row_major(const StridedView& view, std::size_t element_bytes,
                    std::span<const std::byte> source, std::span<std::byte> target);

}  // namespace weft
