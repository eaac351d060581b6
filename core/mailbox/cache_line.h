#pragma once

#include <cstddef>

namespace weft {

/// How far apart two threads' words must lie not to slow each other down. Twice x86's line, because
/// its prefetcher fetches lines in pairs, and the line of some Arm processors.
inline constexpr std::size_t kCacheLineBytes = 128;

}  // namespace weft
