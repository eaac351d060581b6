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

/// A partition over several processes, as its head makes it.
struct WorldPlan {
  const OpenedModel& model;
  const Partition& partition;
  const std::vector<std::shared_ptr<const Program>>& programs;  ///< by rank of the partition
  const RankWorld& world;
  DType kv_dtype = DType::kF32;
  int threads = 0;  ///< of each machine; 0: all
  /// The limits that fit on all ranks, given what each has; by rank of the partition.
  std::function<Result<DeviceLimits>(const std::vector<RankRoom>& rooms)> settle;
};

/// Gathers the processes, asks each what it has, settles what all of them take, has each load its
/// rank, loads the head's own with `own`, and returns all ranks as devices, also those of other
/// processes. Once the stop of `own.progress` is requested it ends soon and says goodbye to the
/// other processes. kRankLost; kUnfit where there are not as many processes as ranks, for a
/// partition on both GPUs and the host, and where ranks do not share the memory that they should;
/// errors of loading any.
[[nodiscard]] Result<std::vector<std::unique_ptr<StepDevice>>> load_world(const WorldPlan& plan,
                                                                          WorldRankOptions own);

}  // namespace weft
