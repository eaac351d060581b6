#pragma once

#include <cstdint>
#include <span>

namespace weft {

/// The sum of all words, by plain loops in the widest registers there are: reads as fast as memory
/// gives.
[[nodiscard]] std::uint64_t add_up(std::span<const std::uint64_t> words);

}  // namespace weft
