#include "weft/gpu/ranks/host_ranks.h"

#include <algorithm>
#include <utility>

#include "weft/gpu/host/host_capacity.h"
#include "weft/gpu/host/host_processors.h"
#include "weft/gpu/ranks/load_at_once.h"

namespace weft {

RanksLayout layout_of(const OpenedModel& model, const Partition& partition,
                      const DeviceOptions& options, std::size_t replicas) {
  const auto ranks = static_cast<int>(partition.ranks());
  RanksLayout layout;
  layout.widths = partition.widths();
  layout.hidden = model.program->hidden;
  layout.step_tokens = options.max_tokens;
  // The last stage's ranks share the logits; a rank may have one column more than another.
  layout.columns = model.program->vocabulary / layout.widths.back() + 1;
  layout.rows = std::max(options.max_outputs, options.max_sequences);
  layout.shares_processors =
      static_cast<int>(replicas) * ranks * threads_of_rank(partition, options.threads) >
      host_parallelism();
  return layout;
}

DeviceNeeds host_ranks_needs(const std::vector<std::shared_ptr<const Program>>& programs,
                             const CapacityWishes& wishes,
                             std::function<std::int64_t(const DeviceLimits& limits)> shared) {
  std::vector<DeviceNeeds> each;
  DeviceNeeds all;
  for (const auto& program : programs) {
    each.push_back(host_needs(*program, wishes));
    all.weight_bytes += each.back().weight_bytes;
    all.page_bytes += each.back().page_bytes;
    all.computes_adapters = true;
  }
  all.bytes = [each = std::move(each), shared = std::move(shared)](const DeviceLimits& limits) {
    std::int64_t bytes = shared(limits);
    for (const DeviceNeeds& needs : each) bytes += needs.bytes(limits);
    return bytes;
  };
  return all;
}

Result<HostRanks> plan_host_ranks(const OpenedModel& model, const Partition& partition,
                                  std::vector<std::shared_ptr<const Program>> programs,
                                  const DeviceOptions& options, std::size_t replicas) {
  HostRanks ranks;
  std::size_t number = 0;
  for (std::size_t stage = 0; stage < partition.stages.size(); ++stage) {
    for (std::size_t i = 0; i < partition.stages[stage].devices.size(); ++i, ++number) {
      if (!partition.stages[stage].is_on_host()) continue;
      ranks.stages.push_back(static_cast<std::int32_t>(stage));
      ranks.programs.push_back(std::move(programs[number]));
    }
  }
  auto shared = SharedRanks::make(layout_of(model, partition, options, replicas));
  if (!shared) return shared.error();
  ranks.shared = *std::move(shared);
  ranks.options = options;
  ranks.options.threads = threads_of_rank(partition, options.threads);
  return ranks;
}

Result<std::unique_ptr<HostDevice>> load_host_rank(const OpenedModel& model, const HostRanks& ranks,
                                                   std::size_t rank, const LoadProgress& progress) {
  auto link = ranks.shared->link(ranks.stages[rank], ranks.programs[rank]->part.rank);
  return HostDevice::load(model.checkpoint, ranks.programs[rank], ranks.options, progress,
                          std::move(link));
}

Result<std::vector<std::unique_ptr<HostDevice>>> load_host_ranks(const OpenedModel& model,
                                                                 const HostRanks& ranks,
                                                                 const LoadProgress& progress) {
  return load_at_once<HostDevice>(ranks.programs.size(), progress,
                                  [&](std::size_t rank, const LoadProgress& own) {
                                    return load_host_rank(model, ranks, rank, own);
                                  });
}

}  // namespace weft
