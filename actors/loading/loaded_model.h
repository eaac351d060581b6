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

/// A model and what runs it: the ranks of each replica of a pipeline.
struct LoadedModel {
  ServedModel model;
  std::vector<DeviceRanks> devices;
};

/// Opens a model, measures the device, takes its memory and loads it, all as `config` says. Errors
/// of Config::validate(), of the model's files and of load_served().
[[nodiscard]] Result<LoadedModel> load_configured_model(
    const Config& config, const LoadProgress& progress = {},
    std::shared_ptr<MemoryBudget> budget = nullptr);

/// The processes that share the model: one for each rank where a launcher's environment says so and
/// `config` has a partition, else this one alone. Their key is that of take_rank_key(), which may
/// make a file. kUnfit naming a variable, or for several replicas or a partition that is to be
/// chosen where there are several processes; errors of take_rank_key() and Config::validate().
[[nodiscard]] Result<RankWorld> rank_world_of(const Config& config);

/// Measures the device, takes its memory (from `budget` where there is one) and loads a model that
/// was opened; on the host with the weights that `weights` has of it, where that is not null. Only
/// device, memory and policy of `config` count, not the model's path. kUnfit for a partition that
/// is to be chosen ("auto") for several replicas or from a budget; errors of settle_partition() and
/// load_step_devices().
[[nodiscard]] Result<LoadedModel> load_served(const OpenedModel& opened, Tokenizer tokenizer,
                                              const Config& config,
                                              const LoadProgress& progress = {},
                                              std::shared_ptr<MemoryBudget> budget = nullptr,
                                              std::shared_ptr<HostWeightPool> weights = nullptr);

}  // namespace weft
