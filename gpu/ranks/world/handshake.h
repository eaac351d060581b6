#pragma once

#include <cstdint>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_socket.h"
#include "weft/gpu/ranks/world/rank_world.h"

namespace weft {

/// The first messages between two processes. Each process proves that it has the key, by the
/// HMAC-SHA256 of the other's random challenge, so the key itself is never sent. It also shows that
/// it speaks this protocol version. With `tls` everything is encrypted from the first byte, and an
/// answer is valid on this connection alone, so an attacker between the two cannot pass it on.

/// The accepting side, which is the head. Returns the other process's rank. Waits some seconds in
/// all. kRankLost with the reason.
[[nodiscard]] Result<std::int32_t> greet_rank(RankSocket& socket, const RankWorld& world,
                                              const RankTls* tls = nullptr);

/// The connecting side, which is a rank.
[[nodiscard]] Result<void> greet_head(RankSocket& socket, const RankWorld& world,
                                      const RankTls* tls = nullptr);

}  // namespace weft
