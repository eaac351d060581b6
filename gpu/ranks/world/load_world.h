#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/world/rank_setup.h"
#include "weft/gpu/ranks/world/rank_world.h"
#include "weft/gpu/ranks/world/world_rank.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"

namespace weft {

/// A partition over several processes, as the head sets it up.
struct WorldPlan {
  const OpenedModel& model;
  const Partition& partition;
  const std::vector<std::shared_ptr<const Program>>& programs;  ///< by rank of the partition
  const RankWorld& world;
  DType kv_dtype = DType::kF32;
  int threads = 0;  ///< threads of each machine; 0: all
  /// Returns the limits that fit on all ranks, from each rank's resources; by rank of the
  /// partition.
  std::function<Result<DeviceLimits>(const std::vector<RankRoom>& rooms)> settle;
};

/// Gathers the processes, asks each for its resources, and settles what all of them take. Then each
/// process loads its rank, and the head loads its own with `own`. Returns all ranks as devices,
/// including ranks of other processes. If the stop of `own.progress` is requested, it ends soon and
/// says goodbye to the other processes. kRankLost; kUnfit if the number of processes is not the
/// number of ranks, for a partition on both GPUs and the host, and if ranks do not share the memory
/// that they should; errors of loading any rank.
[[nodiscard]] Result<std::vector<std::unique_ptr<StepDevice>>> load_world(const WorldPlan& plan,
                                                                          WorldRankOptions own);

}  // namespace weft
