#pragma once

#include <chrono>

namespace weft {

/// Whether a stream that waits is to be pinged: after `interval` in which nothing was sent, since
/// its request came or a byte went out last (`quiet_since`). 0 is never. While something is being
/// sent there is no ping, so a client that reads slowly has one at most.
[[nodiscard]] constexpr bool ping_is_due(std::chrono::steady_clock::duration interval,
                                         std::chrono::steady_clock::time_point quiet_since,
                                         std::chrono::steady_clock::time_point now,
                                         bool sending) noexcept {
  return interval.count() > 0 && !sending && now - quiet_since >= interval;
}

}  // namespace weft
