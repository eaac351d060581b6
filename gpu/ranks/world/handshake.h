#pragma once

#include <cstdint>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_socket.h"
#include "weft/gpu/ranks/world/rank_world.h"

namespace weft {

/// The first messages between two processes. Each process shows that it has the key by the
/// HMAC-SHA256 of the other's random challenge, so the key itself is never sent, and that it speaks
/// this version. With `tls` all is encrypted from the first byte, and an answer holds on this
/// connection alone, so that an attacker between the two cannot pass it on.

/// The accepting side: the head's. Returns the other process's rank. Waits some seconds in all.
/// kRankLost with the reason.
[[nodiscard]] Result<std::int32_t> greet_rank(RankSocket& socket, const RankWorld& world,
                                              const RankTls* tls = nullptr);

/// The connecting side: a rank's.
[[nodiscard]] Result<void> greet_head(RankSocket& socket, const RankWorld& world,
                                      const RankTls* tls = nullptr);

}  // namespace weft
