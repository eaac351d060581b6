#pragma once

#include <cstdint>
#include <span>

namespace weft {

/// Returns the sum of all words, by plain loops over the widest registers: reads as fast as memory
/// allows.
[[nodiscard]] std::uint64_t add_up(std::span<const std::uint64_t> words);

}  // namespace weft
