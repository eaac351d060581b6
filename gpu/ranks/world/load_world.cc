#include "weft/gpu/ranks/world/load_world.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/world/rank_host.h"
#include "weft/gpu/step_options.h"
#include "weft/model/spec/architecture.h"

namespace weft {
namespace {

/// Memory with a name that is gone when the processes have it, or when they could not be gathered.
class NamedRanks {
 public:
  static Result<NamedRanks> make(const RanksLayout& layout) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::string name = "/weft-" + std::to_string(::getpid()) + "-" + std::to_string(now);
    auto memory = HostMemory::create_shared(name, SharedRanks::bytes(layout));
    if (!memory) return memory.error();
    return NamedRanks(std::move(name), SharedRanks::on(layout, *std::move(memory)));
  }

  NamedRanks(NamedRanks&& other) noexcept
      : name_(std::exchange(other.name_, {})), ranks_(std::move(other.ranks_)) {}
  NamedRanks& operator=(NamedRanks&&) = delete;
  NamedRanks(const NamedRanks&) = delete;
  ~NamedRanks() {
    if (!name_.empty()) HostMemory::remove_shared(name_);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::shared_ptr<SharedRanks>& ranks() const { return ranks_; }

 private:
  NamedRanks(std::string name, std::shared_ptr<SharedRanks> ranks)
      : name_(std::move(name)), ranks_(std::move(ranks)) {}

  std::string name_;
  std::shared_ptr<SharedRanks> ranks_;
};

std::int32_t stage_of(const Partition& partition, std::int32_t index) {
  std::int32_t stage = 0;
  for (const std::int32_t width : partition.widths()) {
    if (index < width) break;
    index -= width;
    ++stage;
  }
  return stage;
}

/// A rank of the host's, as a device.
Result<std::unique_ptr<StepDevice>> load_one(const OpenedModel& model, const Partition& partition,
                                             std::shared_ptr<const Program> program,
                                             const RankSetup& setup, SharedRanks& shared,
                                             const std::vector<TokenId>& end_tokens,
                                             const LoadProgress& progress) {
  DeviceOptions options = step_options(*model.program, setup.limits, setup.kv_dtype,
                                       threads_of_rank(partition, setup.threads));
  auto link = shared.link(stage_of(partition, setup.index), program->part.rank);
  auto device =
      HostDevice::load(model.checkpoint, std::move(program), options, progress, std::move(link));
  if (!device) return device.error();
  return std::make_unique<HostStepDevice>(*std::move(device), setup.limits, end_tokens);
}

RanksLayout layout_of_setup(const OpenedModel& model, const Partition& partition,
                            const RankSetup& setup) {
  return layout_of(model, partition,
                   step_options(*model.program, setup.limits, setup.kv_dtype, setup.threads));
}

}  // namespace

Result<std::vector<std::unique_ptr<StepDevice>>> load_world(const WorldPlan& plan,
                                                            const std::vector<TokenId>& end_tokens,
                                                            const LoadProgress& progress) {
  const auto ranks = static_cast<std::int32_t>(plan.partition.ranks());
  if (plan.world.size != ranks) {
    return Error{DeviceErrc::kUnfit, "partition: " + std::to_string(ranks) + " ranks, and the " +
                                         "launcher has started " + std::to_string(plan.world.size) +
                                         " processes"};
  }
  RankSetup setup;
  setup.limits = plan.limits;
  setup.kv_dtype = plan.kv_dtype;
  setup.threads = plan.threads;
  setup.partition = to_string(plan.partition);
  const auto host = RankHost::gather(plan.world);
  if (!host) return host.error();
  const auto named = NamedRanks::make(layout_of_setup(plan.model, plan.partition, setup));
  if (!named) return named.error();
  setup.memory = named->name();
  const std::int32_t chooses = ranks - plan.partition.widths().back();
  const auto set_up = [&](std::int32_t process) -> const RankSetup& {
    setup.index = index_of_process(process, ranks, chooses);
    setup.fingerprint = fingerprint_of(*plan.programs[static_cast<std::size_t>(setup.index)]);
    return setup;
  };
  for (std::int32_t process = 1; process < ranks; ++process) {
    if (auto told = (*host)->set_up(process, set_up(process)); !told) return told.error();
  }
  const RankSetup& own = set_up(0);
  auto device =
      load_one(plan.model, plan.partition, plan.programs[static_cast<std::size_t>(own.index)], own,
               *named->ranks(), end_tokens, progress);
  if (!device) return device.error();
  if (auto ready = (*host)->wait_until_ready([shared = named->ranks()] { shared->abandon(); });
      !ready) {
    return ready.error();
  }
  std::vector<std::unique_ptr<StepDevice>> devices(static_cast<std::size_t>(ranks));
  for (std::int32_t process = 1; process < ranks; ++process) {
    const auto index = static_cast<std::size_t>(index_of_process(process, ranks, chooses));
    devices[index] = (*host)->device(process, plan.limits);
  }
  devices[static_cast<std::size_t>(chooses)] = *std::move(device);
  return devices;
}

Result<std::unique_ptr<StepDevice>> load_rank_of(const OpenedModel& model, const RankSetup& setup) {
  const auto partition = parse_partition(setup.partition);
  if (!partition) return partition.error();
  const auto layers = static_cast<std::int64_t>(model.architecture->decoder.layers.size());
  const auto parts = parts_of(*partition, layers);
  if (!parts) return parts.error();
  if (std::cmp_greater_equal(setup.index, parts->size())) {
    return Error{DeviceErrc::kRankLost, "a setup that fits no partition"};
  }
  auto program = compile(*model.architecture, *model.checkpoint,
                         (*parts)[static_cast<std::size_t>(setup.index)]);
  if (!program) return program.error();
  program->context = model.program->context;
  if (fingerprint_of(*program) != setup.fingerprint) {
    return Error{DeviceErrc::kUnfit, "this process has another model than the head"};
  }
  const RanksLayout layout = layout_of_setup(model, *partition, setup);
  auto memory = HostMemory::open_shared(setup.memory, SharedRanks::bytes(layout));
  if (!memory) return memory.error();
  const auto shared = SharedRanks::on(layout, *std::move(memory));
  return load_one(model, *partition, std::make_shared<const Program>(*std::move(program)), setup,
                  *shared, {}, {});
}

}  // namespace weft
