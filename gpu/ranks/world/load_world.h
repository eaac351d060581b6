#pragma once

#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/load_progress.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/world/rank_setup.h"
#include "weft/gpu/ranks/world/rank_world.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"

namespace weft {

/// A partition over several processes of one host, as its head makes it.
struct WorldPlan {
  const OpenedModel& model;
  const Partition& partition;
  const std::vector<std::shared_ptr<const Program>>& programs;  ///< by rank of the partition
  const RankWorld& world;
  DeviceLimits limits;
  DType kv_dtype = DType::kF32;
  int threads = 0;
};

/// Gathers the processes, has each load its rank, loads the head's own, and returns the ranks as
/// devices, those of other processes as well. kRankLost; kUnfit where there are not as many
/// processes as ranks; errors of loading any.
[[nodiscard]] Result<std::vector<std::unique_ptr<StepDevice>>> load_world(
    const WorldPlan& plan, const std::vector<TokenId>& end_tokens, const LoadProgress& progress);

/// Loads the rank that `setup` describes, in a process of its own. kUnfit where this model is not
/// the head's; errors of loading.
[[nodiscard]] Result<std::unique_ptr<StepDevice>> load_rank_of(const OpenedModel& model,
                                                               const RankSetup& setup);

}  // namespace weft
