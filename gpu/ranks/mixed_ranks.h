#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/load_progress.h"
#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"

namespace weft {

/// What the ranks of a partition with both GPUs and the host are made with (Inferflow's GPU/CPU
/// hybrid inference). A whole stage is on either. GPUs exchange numbers with GPUs as ever, and so
/// do ranks on the host with each other; between a GPU and the host numbers go through the host's
/// memory (HostStream).
struct MixedRanks {
  GpuRanks gpus;
  HostRanks host;
};

/// Puts the ranks on the host beside GPUs that have been opened, of the same partition. Errors of
/// plan_host_ranks().
[[nodiscard]] Result<MixedRanks> plan_mixed_ranks(
    const OpenedModel& model, const Partition& partition,
    std::vector<std::shared_ptr<const Program>> programs, GpuRanks gpus,
    const DeviceOptions& options);

/// Loads all ranks at once, each on a thread of its own, and lets them meet: stage by stage. Errors
/// of loading any.
[[nodiscard]] Result<std::vector<std::unique_ptr<ModelDevice>>> load_mixed_ranks(
    const OpenedModel& model, MixedRanks ranks, const LoadProgress& progress);

/// The same as devices of the pipeline.
[[nodiscard]] Result<DeviceRanks> load_mixed_step_ranks(const OpenedModel& model, MixedRanks ranks,
                                                        const DeviceLimits& limits,
                                                        const std::vector<TokenId>& end_tokens,
                                                        const LoadProgress& progress);

}  // namespace weft
