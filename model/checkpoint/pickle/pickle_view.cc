#include "weft/model/checkpoint/pickle/pickle_view.h"

#include <cstring>

#include "weft/core/error/checked.h"

namespace weft {

std::optional<std::int64_t> elements_of(const StridedView& view) noexcept {
  std::optional<std::int64_t> elements = 1;
  for (const std::int64_t dimension : view.shape) {
    if (dimension < 0) return std::nullopt;
    elements = checked_multiply(*elements, dimension);
    if (!elements) return std::nullopt;
  }
  return elements;
}

std::optional<std::int64_t> extent_of(const StridedView& view) noexcept {
  if (view.offset < 0) return std::nullopt;
  const auto elements = elements_of(view);
  if (!elements || *elements == 0) return elements;
  std::optional<std::int64_t> last = view.offset;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.strides[i] < 0) return std::nullopt;
    const auto reach = checked_multiply(view.shape[i] - 1, view.strides[i]);
    if (!reach) return std::nullopt;
    last = checked_add(*last, *reach);
    if (!last) return std::nullopt;
  }
  return checked_add(*last, std::int64_t{1});
}

bool is_row_major(const StridedView& view) noexcept {
  std::int64_t expected = 1;
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];  // elements_of() has checked that this does not overflow
  }
  return true;
}

void copy_row_major(const StridedView& view, std::size_t element_bytes,
                    std::span<const std::byte> source, std::span<std::byte> target) {
  std::vector<std::int64_t> index(view.shape.size(), 0);
  std::int64_t from = view.offset;
  for (std::size_t to = 0; to < target.size(); to += element_bytes) {
    std::memcpy(target.data() + to, source.data() + static_cast<std::size_t>(from) * element_bytes,
                element_bytes);
    for (std::size_t i = index.size(); i-- > 0;) {
      if (view.shape[i] == 1) continue;  // its stride has no meaning and may be any number
      from += view.strides[i];
      if (++index[i] < view.shape[i]) break;
      from -= view.strides[i] * view.shape[i];  // back to the start of this dimension
      index[i] = 0;
    }
  }
}

}  // namespace weft
