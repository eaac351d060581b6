#include "weft/actors/loading/run_rank_process.h"

#include "weft/actors/loading/loaded_model.h"
#include "weft/gpu/ranks/world/rank_worker.h"
#include "weft/gpu/ranks/world/world_rank.h"
#include "weft/model/open_model.h"

namespace weft {

Result<bool> run_rank_process(const Config& config, const RankStop& stop) {
  const auto world = rank_world_of(config);
  if (!world) return world.error();
  if (world->rank == 0) return false;
  const auto model = open_model(config.model, config.spec, config.weights, config.adapter);
  if (!model) return model.error();
  WorldRank rank(*model, *world, {.tuning = config.tuning});
  const auto ran = run_rank(*world, rank, stop);
  if (!ran) return ran.error();
  return true;
}

}  // namespace weft
