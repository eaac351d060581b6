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

/// The resources of the ranks of a partition with both GPUs and the host (Inferflow's GPU/CPU
/// hybrid inference). A whole stage is on one kind. GPUs exchange numbers with GPUs, and host ranks
/// with host ranks, as in other partitions. Between a GPU and the host, numbers go through the
/// host's memory (HostStream).
struct MixedRanks {
  GpuRanks gpus;
  HostRanks host;
};

/// Adds the ranks on the host to opened GPUs of the same partition. Errors of plan_host_ranks().
[[nodiscard]] Result<MixedRanks> plan_mixed_ranks(
    const OpenedModel& model, const Partition& partition,
    std::vector<std::shared_ptr<const Program>> programs, GpuRanks gpus,
    const DeviceOptions& options);

/// Loads all ranks at once, each on its own thread, and joins them, stage by stage. Errors of
/// loading any rank.
[[nodiscard]] Result<std::vector<std::unique_ptr<ModelDevice>>> load_mixed_ranks(
    const OpenedModel& model, MixedRanks ranks, const LoadProgress& progress);

/// As load_mixed_ranks(), as devices of the pipeline.
[[nodiscard]] Result<DeviceRanks> load_mixed_step_ranks(const OpenedModel& model, MixedRanks ranks,
                                                        const DeviceLimits& limits,
                                                        const std::vector<TokenId>& end_tokens,
                                                        const LoadProgress& progress);

}  // namespace weft
