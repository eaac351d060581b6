#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/gpu/cuda/runtime/rank_groups.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/load_progress.h"
#include "weft/gpu/ranks/partition.h"
#include "weft/gpu/ranks/rank_link.h"
#include "weft/gpu/ranks/world/rank_mesh.h"
#include "weft/gpu/ranks/world/rank_worker.h"
#include "weft/model/open_model.h"

namespace weft {

/// Opens the GPU of a process of a world, and gives GPUs of several processes the ids by which they
/// find each other. On a real machine, or in a test.
struct WorldGpus {
  std::function<Result<std::unique_ptr<cuda::Runtime>>(const std::string& device)> open;
  /// Returns the ids of the rank groups of stages with these widths.
  std::function<Result<std::vector<cuda::CudaRanks::GroupId>>(
      const std::vector<std::int32_t>& widths)>
      name_groups;
};

/// Returns the GPUs of this machine. Opening one requires NCCL. kNoSuchDevice, kDriver, kUnfit.
[[nodiscard]] WorldGpus machine_gpus();

/// A rank's own options, in addition to the head's setup.
struct WorldRankOptions {
  std::string tuning{};               ///< a file of `weft tune`; empty: see cuda::find_tuning
  std::vector<TokenId> end_tokens{};  ///< for the rank that chooses tokens
  LoadProgress progress{};
  WorldGpus gpus = machine_gpus();
};

/// One rank of a world, in its own process, on the host or a GPU. The head has one as well.
class WorldRank final : public RankLoader {
 public:
  /// `model` is borrowed.
  WorldRank(const OpenedModel& model, const RankWorld& world, WorldRankOptions options = {});

  /// kUnfit for a partition on both GPUs and the host; errors of opening the GPU.
  [[nodiscard]] Result<RankRoom> room(const RankQuestion& question,
                                      const std::string& own_host) override;
  /// kUnfit if this model is not the head's; errors of loading. Throws as throw_if_stopped() once
  /// `lost` is asked to stop.
  [[nodiscard]] Result<std::unique_ptr<StepDevice>> load(const RankSetup& setup,
                                                         const std::stop_token& lost) override;

 private:
  [[nodiscard]] LoadProgress until(const std::stop_token& lost) const;
  [[nodiscard]] Result<RankRoom> room_on_gpu(const std::string& device);
  [[nodiscard]] Result<std::unique_ptr<StepDevice>> load_on_host(const RankSetup& setup,
                                                                 const std::stop_token& lost);
  [[nodiscard]] Result<std::unique_ptr<StepDevice>> load_on_gpu(const RankSetup& setup,
                                                                const std::stop_token& lost);
  [[nodiscard]] Result<std::unique_ptr<RankLink>> link(const RankSetup& setup,
                                                       const std::stop_token& lost);

  const OpenedModel& model_;
  const RankWorld world_;
  const WorldRankOptions options_;
  Partition partition_;
  std::int32_t stage_ = 0;
  std::shared_ptr<const Program> program_;
  std::unique_ptr<cuda::Runtime> runtime_;  // a GPU's, until it is loaded
  std::optional<RankMesh> mesh_;            // set on the host
};

}  // namespace weft
