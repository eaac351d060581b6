#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

/// Returns how many letters must be inserted, deleted or replaced to turn one name into the other
/// (Wagner and Fischer, The string-to-string correction problem, JACM 21(1), 1974). It is for
/// mistyped names: only the first 64 bytes of each name count, which bounds the work.
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right) noexcept;

}  // namespace weft
