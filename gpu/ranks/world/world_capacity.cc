#include "weft/gpu/ranks/world/world_capacity.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "weft/gpu/ranks/cuda_ranks.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/step_options.h"

namespace weft {
namespace {

using Programs = std::vector<std::shared_ptr<const Program>>;

/// The ranks on one machine and the machine's free memory: the least that one of the ranks states.
struct RankMachine {
  std::vector<std::size_t> ranks;
  std::int64_t free_bytes = 0;
};

std::vector<RankMachine> machines_of(const std::vector<RankRoom>& rooms) {
  std::map<std::string, RankMachine> all;
  for (std::size_t rank = 0; rank < rooms.size(); ++rank) {
    RankMachine& one = all[rooms[rank].machine];
    const std::int64_t bytes = rooms[rank].free_bytes;
    one.free_bytes = one.ranks.empty() ? bytes : std::min(one.free_bytes, bytes);
    one.ranks.push_back(rank);
  }
  std::vector<RankMachine> machines;
  for (auto& [name, machine] : all) machines.push_back(std::move(machine));
  return machines;
}

Result<MemoryPortion> capacity_on_host(const OpenedModel& model, const Partition& partition,
                                       const Programs& programs, const DeviceWishes& wishes,
                                       const CapacityWishes& capacity,
                                       const std::vector<RankRoom>& rooms, std::size_t own) {
  MemoryPortion all;
  bool is_first = true;
  for (const RankMachine& machine : machines_of(rooms)) {
    Programs there;
    for (const std::size_t rank : machine.ranks) there.push_back(programs[rank]);
    DeviceNeeds needs = host_ranks_needs(there, capacity, [&](const DeviceLimits& limits) {
      const auto options = step_options(*model.program, limits, capacity.kv_dtype, 1);
      return static_cast<std::int64_t>(SharedRanks::bytes(layout_of(model, partition, options)));
    });
    needs.computes_adapters = false;  // adapters cannot be sent to other processes
    DeviceWishes of_machine = wishes;
    const bool is_own = std::ranges::find(machine.ranks, own) != machine.ranks.end();
    if (!is_own) of_machine.budget = nullptr;  // the budget is for this process's machine only
    auto portion = take_portion(*model.program, of_machine, capacity, machine.free_bytes, needs);
    if (!portion) {
      return Error{portion.error().code,
                   "rank " + std::to_string(machine.ranks.front()) + ": " + portion.error().detail};
    }
    if (portion->claim) all.claim = portion->claim;
    all.limits = is_first ? portion->limits : least_of(all.limits, portion->limits, capacity.slabs);
    is_first = false;
  }
  return all;
}

/// Returns the wishes for the memory of a rank's machine, where the rank's KV cache is.
CapacityWishes on_machine_of(std::size_t rank, CapacityWishes capacity,
                             const std::vector<RankRoom>& rooms) {
  if (capacity.kv_host_bytes == 0) return capacity;
  const auto free_bytes = static_cast<double>(rooms[rank].host_bytes);
  capacity.kv_host_bytes = static_cast<std::int64_t>(free_bytes * capacity.memory_fraction);
  return with_host_share(std::move(capacity), static_cast<std::size_t>(neighbours_of(rooms, rank)));
}

Result<MemoryPortion> capacity_on_gpus(const Programs& programs, const CapacityWishes& capacity,
                                       const std::vector<RankRoom>& rooms) {
  MemoryPortion all;
  for (std::size_t rank = 0; rank < rooms.size(); ++rank) {
    const RankRoom& room = rooms[rank];
    const auto own = gpu_rank_capacity(
        *programs[rank], on_machine_of(rank, capacity, rooms),
        {room.device, room.processors, room.architecture, room.l2_bytes}, room.free_bytes);
    if (!own) {
      return Error{own.error().code, "rank " + std::to_string(rank) + ": " + own.error().detail};
    }
    all.limits = rank == 0 ? *own : least_of(all.limits, *own, capacity.slabs);
  }
  return all;
}

}  // namespace

Result<MemoryPortion> world_capacity(const OpenedModel& model, const Partition& partition,
                                     const Programs& programs, const DeviceWishes& wishes,
                                     const CapacityWishes& capacity,
                                     const std::vector<RankRoom>& rooms, std::size_t own) {
  const bool on_host = partition.stages.front().is_on_host();
  auto portion = on_host
                     ? capacity_on_host(model, partition, programs, wishes, capacity, rooms, own)
                     : capacity_on_gpus(programs, capacity, rooms);
  if (portion) portion->limits.stages = static_cast<std::int32_t>(partition.stages.size());
  return portion;
}

std::int32_t neighbours_of(const std::vector<RankRoom>& rooms, std::size_t index) {
  return static_cast<std::int32_t>(
      std::ranges::count(rooms, rooms[index].machine, &RankRoom::machine));
}

}  // namespace weft
