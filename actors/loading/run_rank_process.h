#pragma once

#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_stop.h"

namespace weft {

/// For programs that a launcher (mpirun, srun, torchrun, Kubernetes) starts once for each rank of
/// `config.partition`. In the head process, or without a launcher, it returns false at once, and
/// the caller makes an Engine. In any other process it loads this rank's part of the model, runs it
/// until the head ends, and returns true. It blocks meanwhile, at most until shortly after `stop`
/// is requested. Errors: kRankLost if the head or this rank has failed; errors of opening and
/// loading the model.
[[nodiscard]] Result<bool> run_rank_process(const Config& config, const RankStop& stop = {});

}  // namespace weft
