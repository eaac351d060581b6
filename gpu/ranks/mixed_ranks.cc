#include "weft/gpu/ranks/mixed_ranks.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/ranks/load_at_once.h"

namespace weft {
namespace {

/// The parts of all ranks, each kind in the order of its stages.
struct LoadedParts {
  std::vector<std::unique_ptr<cuda::CudaDevice>> gpus;
  std::vector<std::unique_ptr<HostDevice>> host;
};

Result<LoadedParts> load_all(const OpenedModel& model, MixedRanks& ranks,
                             const LoadProgress& progress) {
  LoadedParts parts;
  const std::size_t gpus = ranks.gpus.size();
  parts.gpus.resize(gpus);
  parts.host.resize(ranks.host.programs.size());
  const auto loaded = on_all_ranks(
      gpus + parts.host.size(), progress,
      [&](std::size_t rank, const LoadProgress& own) -> Result<void> {
        if (rank < gpus) {
          auto device = load_gpu_rank(model, ranks.gpus, rank, ranks.host.options, own);
          if (!device) return device.error();
          parts.gpus[rank] = *std::move(device);
          return {};
        }
        auto device = load_host_rank(model, ranks.host, rank - gpus, own);
        if (!device) return device.error();
        parts.host[rank - gpus] = *std::move(device);
        return {};
      });
  if (!loaded) return loaded.error();
  return parts;
}

/// Combines ranks of both kinds, in the order of the partition.
template <class All, class Gpu, class Host>
All in_order(const MixedRanks& ranks, std::vector<std::unique_ptr<Gpu>> gpus,
             std::vector<std::unique_ptr<Host>> host) {
  All all(gpus.size() + host.size());
  const std::vector<std::int32_t>& widths = ranks.gpus.places.front().all->widths;
  const auto number = [&](std::int32_t stage, std::int32_t rank) {
    return static_cast<std::size_t>(cuda::rank_number(widths, stage, rank));
  };
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const cuda::CudaRank& place = ranks.gpus.places[i];
    all[number(place.stage, place.rank)] = std::move(gpus[i]);
  }
  for (std::size_t i = 0; i < host.size(); ++i) {
    all[number(ranks.host.stages[i], ranks.host.programs[i]->part.rank)] = std::move(host[i]);
  }
  return all;
}

}  // namespace

Result<MixedRanks> plan_mixed_ranks(const OpenedModel& model, const Partition& partition,
                                    std::vector<std::shared_ptr<const Program>> programs,
                                    GpuRanks gpus, const DeviceOptions& options) {
  auto host = plan_host_ranks(model, partition, std::move(programs), options);
  if (!host) return host.error();
  gpus.host = host->shared;
  return MixedRanks{std::move(gpus), *std::move(host)};
}

Result<std::vector<std::unique_ptr<ModelDevice>>> load_mixed_ranks(const OpenedModel& model,
                                                                   MixedRanks ranks,
                                                                   const LoadProgress& progress) {
  auto parts = load_all(model, ranks, progress);
  if (!parts) return parts.error();
  if (const auto joined = join_gpu_ranks(ranks.gpus, parts->gpus); !joined) return joined.error();
  return in_order<std::vector<std::unique_ptr<ModelDevice>>>(ranks, std::move(parts->gpus),
                                                             std::move(parts->host));
}

Result<DeviceRanks> load_mixed_step_ranks(const OpenedModel& model, MixedRanks ranks,
                                          const DeviceLimits& limits,
                                          const std::vector<TokenId>& end_tokens,
                                          const LoadProgress& progress) {
  auto parts = load_all(model, ranks, progress);
  if (!parts) return parts.error();
  auto gpus = make_gpu_step_ranks(ranks.gpus, std::move(parts->gpus), limits, end_tokens);
  if (!gpus) return gpus.error();
  std::vector<std::unique_ptr<HostStepDevice>> host;
  for (auto& device : parts->host) {
    host.push_back(std::make_unique<HostStepDevice>(std::move(device), limits, end_tokens));
  }
  return in_order<DeviceRanks>(ranks, *std::move(gpus), std::move(host));
}

}  // namespace weft
