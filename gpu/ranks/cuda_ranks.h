#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/cuda/cuda_device.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/runtime/rank_groups.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/load_progress.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/shared_ranks.h"
#include "weft/model/open_model.h"

namespace weft {

/// The resources of a partition's GPU ranks, stage by stage. Each rank is a GPU of this process.
struct GpuRanks {
  std::vector<std::shared_ptr<const Program>> programs;
  /// Moved into the ranks when they are loaded.
  std::vector<std::unique_ptr<cuda::Runtime>> runtimes;
  std::vector<cuda::Tuning> tunings;
  std::vector<cuda::CudaRank> places;
  std::shared_ptr<SharedRanks> host;  ///< shared with the ranks on the host; null if there are none

  [[nodiscard]] std::size_t size() const noexcept { return programs.size(); }
};

/// Opens the GPUs of a partition. `programs` has all ranks; ranks on the host are skipped. `tuning`
/// is a file of `weft tune`, or empty. kNoSuchDevice naming the device; kUnfit if NCCL is missing;
/// errors of find_tuning().
[[nodiscard]] Result<GpuRanks> open_gpu_ranks(const OpenedModel& model, const Partition& partition,
                                              std::vector<std::shared_ptr<const Program>> programs,
                                              const std::string& tuning);

/// Returns the limits that fit on each of the GPUs, given their free bytes: the limits of the GPU
/// with the least room. The wishes' host memory is for each GPU. Errors of device_capacity(), which
/// name the rank.
[[nodiscard]] Result<DeviceLimits> gpu_ranks_capacity(const GpuRanks& ranks,
                                                      const CapacityWishes& wishes,
                                                      const std::vector<std::int64_t>& free_bytes);

/// Returns the limits that fit on one of the ranks. Errors of device_capacity().
[[nodiscard]] Result<DeviceLimits> gpu_rank_capacity(const Program& program,
                                                     const CapacityWishes& wishes,
                                                     const cuda::Properties& properties,
                                                     std::int64_t free_bytes);

/// Returns the free bytes of each rank.
[[nodiscard]] Result<std::vector<std::int64_t>> free_memory(const GpuRanks& ranks);

/// Loads one of the ranks and takes its runtime. Errors of CudaDevice::load().
[[nodiscard]] Result<std::unique_ptr<cuda::CudaDevice>> load_gpu_rank(const OpenedModel& model,
                                                                      GpuRanks& ranks,
                                                                      std::size_t rank,
                                                                      const DeviceOptions& options,
                                                                      const LoadProgress& progress);

/// Joins all loaded ranks. kDriver.
[[nodiscard]] Result<void> join_gpu_ranks(
    const GpuRanks& ranks, const std::vector<std::unique_ptr<cuda::CudaDevice>>& devices);

/// As join_gpu_ranks(); also makes the ranks devices of the pipeline.
[[nodiscard]] Result<std::vector<std::unique_ptr<cuda::CudaStepDevice>>> make_gpu_step_ranks(
    const GpuRanks& ranks, std::vector<std::unique_ptr<cuda::CudaDevice>> devices,
    const DeviceLimits& limits, const std::vector<TokenId>& end_tokens);

/// Loads all ranks at once, each on its own thread, and joins them. `options.threads` is for each
/// rank. Errors of loading any rank.
[[nodiscard]] Result<std::vector<std::unique_ptr<cuda::CudaDevice>>> load_gpu_ranks(
    const OpenedModel& model, GpuRanks ranks, const DeviceOptions& options,
    const LoadProgress& progress);

/// As load_gpu_ranks(), as devices of the pipeline.
[[nodiscard]] Result<std::vector<std::unique_ptr<cuda::CudaStepDevice>>> load_gpu_step_ranks(
    const OpenedModel& model, GpuRanks ranks, const DeviceLimits& limits,
    const DeviceOptions& options, const std::vector<TokenId>& end_tokens,
    const LoadProgress& progress);

}  // namespace weft
