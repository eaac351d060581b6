#pragma once

#include <chrono>

namespace weft {

/// Returns whether to ping a stream that waits: after `interval` in which nothing was sent, since
/// its request came or since the last byte went out (`quiet_since`). 0 means never. While bytes are
/// being sent there is no ping, so a client that reads slowly has at most one ping.
[[nodiscard]] constexpr bool ping_is_due(std::chrono::steady_clock::duration interval,
                                         std::chrono::steady_clock::time_point quiet_since,
                                         std::chrono::steady_clock::time_point now,
                                         bool sending) noexcept {
  return interval.count() > 0 && !sending && now - quiet_since >= interval;
}

}  // namespace weft
