#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

/// How many letters must be put in, left out or changed to make one name of the other (Wagner and
/// Fischer, The string-to-string correction problem, JACM 21(1), 1974). For mistyped names: only
/// the first 64 bytes of each count, which bounds the work.
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right) noexcept;

}  // namespace weft
