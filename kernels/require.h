#pragma once

#include <source_location>
#include <string_view>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/rows.h"

namespace weft {

/// Reports a wrong parameter of an op, a bug of the op's caller, by internal_error().
inline void require(bool holds, std::string_view reason,
                    std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]] {
    internal_error(reason, where);
  }
}

/// Requires at least `count` rows of at least `width` numbers.
template <class Float>
[[nodiscard]] bool holds_rows(const BasicRows<Float>& rows, std::int64_t count,
                              std::int64_t width) noexcept {
  return rows.count >= count && rows.width >= width && rows.stride >= rows.width &&
         (rows.data != nullptr || count == 0);
}

}  // namespace weft
