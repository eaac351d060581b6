#pragma once

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_stop.h"

namespace weft {

/// For programs that a launcher (mpirun, srun, torchrun, Kubernetes) starts once for each rank of
/// `config.partition`. In the head, and where there is no launcher, returns false at once: an
/// Engine is what to make then. In any other process loads this rank's part of the model and runs
/// it until the head ends, and returns true. Blocks meanwhile, at most until soon after `stop` is
/// requested. Errors: kRankLost when the head or this rank has failed, errors of opening and
/// loading the model.
[[nodiscard]] Result<bool> run_rank_process(const Config& config, const RankStop& stop = {});

}  // namespace weft
