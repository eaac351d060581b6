#pragma once

#include <filesystem>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_world.h"

namespace weft {

/// Sets `world.key`. A model's processes prove to each other that they have it. The key is
/// WEFT_RANK_KEY; else the content of the file WEFT_RANK_KEY_FILE; else, on the loopback, the
/// content of "weft-UID/ranks.key" below TMPDIR ("/tmp"). A missing file is created with a random
/// key. With WEFT_RANK_NO_KEY and no named file, no key is set on the loopback. Elsewhere a world
/// without a key keeps none, and check_rank_key() refuses it. DeviceErrc::kUnfit names the file and
/// says why its key cannot be read or trusted.
[[nodiscard]] Result<void> take_rank_key(const Environment& environment, RankWorld& world);

/// Checks that the processes of such a world may connect: kUnfit unless it has a key, or needs
/// none.
[[nodiscard]] Result<void> check_rank_key(const RankWorld& world);

}  // namespace weft
