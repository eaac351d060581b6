#pragma once

#include <functional>
#include <memory>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_setup.h"
#include "weft/gpu/ranks/world/rank_world.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// Loads what the head says. Called on a thread of its own.
using LoadRank = std::function<Result<std::unique_ptr<StepDevice>>(const RankSetup& setup)>;

/// A process that is a rank and nothing else: connects to the head, loads its part and runs plans
/// until the head ends. Blocks meanwhile. Returns when the head has said goodbye; kRankLost when it
/// is gone or silent, or this rank has failed, and errors of loading, which the head is told.
[[nodiscard]] Result<void> run_rank(const RankWorld& world, const LoadRank& load);

}  // namespace weft
