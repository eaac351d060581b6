#pragma once

#include <memory>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/gpu/memory/memory_budget.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/ranks/world/rank_world.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

class HostWeightPool;

/// A model and its devices: the ranks of each replica of a pipeline.
struct LoadedModel {
  ServedModel model;
  std::vector<DeviceRanks> devices;
};

/// Opens a model, measures the device, allocates its memory and loads the model, all as `config`
/// says. Errors of Config::validate(), of the model's files and of load_served().
[[nodiscard]] Result<LoadedModel> load_configured_model(
    const Config& config, const LoadProgress& progress = {},
    std::shared_ptr<MemoryBudget> budget = nullptr);

/// Returns the processes that share the model: one for each rank if a launcher's environment says
/// so and `config` has a partition, otherwise only this process. Their key is take_rank_key()'s,
/// which may create a file. Errors: kUnfit naming a variable, or, with several processes, for
/// several replicas or an automatic partition; errors of take_rank_key() and Config::validate().
[[nodiscard]] Result<RankWorld> rank_world_of(const Config& config);

/// Measures the device, allocates its memory (from `budget` if not null) and loads an opened
/// model; on the host it shares the weights in `weights` if not null. Of `config` only device,
/// memory and policy count, not the model's path. Errors: kUnfit for an automatic partition
/// ("auto") with several replicas or a budget; errors of settle_partition() and
/// load_step_devices().
[[nodiscard]] Result<LoadedModel> load_served(const OpenedModel& opened, Tokenizer tokenizer,
                                              const Config& config,
                                              const LoadProgress& progress = {},
                                              std::shared_ptr<MemoryBudget> budget = nullptr,
                                              std::shared_ptr<HostWeightPool> weights = nullptr);

}  // namespace weft
