#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_world.h"

namespace weft {

/// Gives a world of several processes the key that they show each other: WEFT_RANK_KEY itself, or
/// what stands in the file of WEFT_RANK_KEY_FILE. Without either, on the loopback, it is the key of
/// this user on this machine, in "weft-UID/ranks.key" below TMPDIR ("/tmp"), which only the user
/// can read; so processes that one user starts find each other, and no other user's can take a
/// place among them. Whoever comes first makes a file that is missing. With WEFT_RANK_NO_KEY there
/// is none, on the loopback alone. Elsewhere a world without a key stays without, and is refused
/// later. DeviceErrc::kUnfit naming the file and why its key cannot be had or trusted.
[[nodiscard]] Result<void> take_rank_key(const Environment& environment, RankWorld& world);

/// Why such a world may not meet; nothing where it has a key, or needs none: kUnfit.
[[nodiscard]] Result<void> check_rank_key(const RankWorld& world);

}  // namespace weft
