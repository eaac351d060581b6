#pragma once

#include <chrono>

namespace weft {

/// Returns whether to ping a waiting stream. A ping is due when nothing was sent for `interval`,
/// counted from its request or from its last byte (`quiet_since`). 0 means never. While bytes are
/// being sent there is no ping, so a client that reads slowly has at most one ping waiting.
[[nodiscard]] constexpr bool ping_is_due(std::chrono::steady_clock::duration interval,
                                         std::chrono::steady_clock::time_point quiet_since,
                                         std::chrono::steady_clock::time_point now,
                                         bool sending) noexcept {
  return interval.count() > 0 && !sending && now - quiet_since >= interval;
}

}  // namespace weft
