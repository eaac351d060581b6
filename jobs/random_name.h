#pragma once

#include <cstddef>
#include <string>

namespace weft {

/// With 36 characters to choose from, no two of a folder's names are ever the same.
inline constexpr std::size_t kRandomNameBytes = 16;

/// Returns so many random letters and digits. Thread-safe.
[[nodiscard]] std::string random_name();

}  // namespace weft
