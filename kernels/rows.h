#pragma once

#include <cstdint>

namespace weft {

/// `count` rows of `width` floats; consecutive rows begin `stride` floats apart. Borrowed.
template <class Float>
struct BasicRows {
  Float* data = nullptr;
  std::int64_t count = 0;
  std::int64_t width = 0;
  std::int64_t stride = 0;

  [[nodiscard]] Float* row(std::int64_t index) const noexcept { return data + index * stride; }

  // NOLINTNEXTLINE(google-explicit-constructor): writable rows are readable
  [[nodiscard]] operator BasicRows<const Float>() const noexcept {
    return {data, count, width, stride};
  }
};

using Rows = BasicRows<float>;
using ConstRows = BasicRows<const float>;

}  // namespace weft
