#pragma once

#include <cstdint>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_socket.h"
#include "weft/gpu/ranks/world/rank_world.h"

namespace weft {

/// The first messages between two processes: each shows that it has the key by the HMAC-SHA256 of
/// the other's random challenge, so the key itself is never sent, and that it speaks this version.

/// The head's side. Returns the other's rank. kRankLost with the reason.
[[nodiscard]] Result<std::int32_t> greet_rank(RankSocket& socket, const RankWorld& world);

/// A rank's side.
[[nodiscard]] Result<void> greet_head(RankSocket& socket, const RankWorld& world);

}  // namespace weft
