#pragma once

#include <cstdint>

namespace weft {

/// The number of a piece of text in a model's vocabulary, 0 .. V-1. Signed and 32 bits wide, as
/// devices exchange it.
using TokenId = std::int32_t;

/// No token.
inline constexpr TokenId kNoToken = -1;

}  // namespace weft
