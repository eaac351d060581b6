#pragma once

#include <cstdint>
#include <functional>

namespace weft {

/// Told how much of the weights is loaded: bytes done and in all. Called by one thread at a time.
using LoadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

}  // namespace weft
