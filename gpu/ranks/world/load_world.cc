#include "weft/gpu/ranks/world/load_world.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <random>
#include <stop_token>
#include <string>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/gpu/forwarding_device.h"
#include "weft/gpu/host/host_memory.h"
#include "weft/gpu/ranks/host_ranks.h"
#include "weft/gpu/ranks/world/rank_host.h"
#include "weft/gpu/ranks/world/world_capacity.h"
#include "weft/gpu/step_options.h"

namespace weft {
namespace {

/// Memory with a name. The destructor removes the name; a process that has opened the memory keeps
/// it.
class NamedMemory {
 public:
  static Result<NamedMemory> make(std::size_t bytes) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::string name = "/weft-" + std::to_string(::getpid()) + "-" + std::to_string(now);
    auto memory = HostMemory::create_shared(name, bytes);
    if (!memory) return memory.error();
    return NamedMemory(std::move(name), *std::move(memory));
  }

  NamedMemory(NamedMemory&& other) noexcept
      : name_(std::exchange(other.name_, {})), memory_(std::move(other.memory_)) {}
  NamedMemory& operator=(NamedMemory&&) = delete;
  NamedMemory(const NamedMemory&) = delete;
  ~NamedMemory() {
    if (!name_.empty()) HostMemory::remove_shared(name_);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return memory_.bytes(); }

 private:
  NamedMemory(std::string name, HostMemory memory)
      : name_(std::move(name)), memory_(std::move(memory)) {}

  std::string name_;
  HostMemory memory_;
};

/// The head's own rank, which stops waiting for other ranks when one is lost.
class HeadRank final : public ForwardingDevice {
 public:
  HeadRank(std::unique_ptr<StepDevice> device, const std::stop_token& lost)
      : ForwardingDevice(std::move(device)), on_loss_(lost, [this] { this->device().abandon(); }) {}

 private:
  const std::stop_callback<std::function<void()>> on_loss_;
};

/// The head of a world while the world is set up.
class WorldHead {
 public:
  WorldHead(const WorldPlan& plan, WorldRankOptions own)
      : plan_(plan),
        ranks_(static_cast<std::int32_t>(plan.partition.ranks())),
        chooses_(ranks_ - plan.partition.widths().back()),
        gpus_(own.gpus),
        stop_(own.progress.stop),
        own_(plan.model, plan.world, std::move(own)) {}

  Result<std::vector<std::unique_ptr<StepDevice>>> load() {
    auto host = RankHost::gather(plan_.world, stop_);
    if (!host) return host.error();
    host_ = *std::move(host);
    // Wakes all threads below that wait for a process.
    const std::stop_callback on_stop(stop_, [this] { host_->dismiss("told to stop"); });
    if (auto asked = ask(); !asked) return asked.error();
    auto setup = settle();
    if (!setup) return setup.error();
    for (std::int32_t process = 1; process < ranks_; ++process) {
      if (auto told = host_->set_up(process, setup_of(process, *setup)); !told) return told.error();
    }
    const std::stop_source lost;
    host_->watch_over([lost]() mutable { lost.request_stop(); });
    auto own = load_own(setup_of(0, *setup), lost.get_token());
    if (!own) return host_->loss().value_or(own.error());
    auto head = std::make_unique<HeadRank>(*std::move(own), lost.get_token());
    if (auto ready = host_->wait_until_ready(); !ready) return ready.error();
    std::vector<std::unique_ptr<StepDevice>> devices(static_cast<std::size_t>(ranks_));
    for (std::int32_t process = 1; process < ranks_; ++process) {
      devices[index_of(process)] = host_->device(process, setup->limits);
    }
    devices[index_of(0)] = std::move(head);
    return devices;
  }

 private:
  /// If a rank is lost, an exception ends the loading. It does not say what was lost.
  Result<std::unique_ptr<StepDevice>> load_own(const RankSetup& setup,
                                               const std::stop_token& lost) {
    try {
      return own_.load(setup, lost);
    } catch (const std::exception&) {
      const auto loss = host_->loss();
      if (!loss) throw;
      return *loss;
    }
  }

  [[nodiscard]] std::size_t index_of(std::int32_t process) const {
    return static_cast<std::size_t>(index_of_process(process, ranks_, chooses_));
  }

  /// Asks every process for its resources.
  Result<void> ask() {
    const bool on_host = plan_.partition.stages.front().is_on_host();
    RankQuestion question;
    question.partition = to_string(plan_.partition);
    // Without named memory no process sees it, and numbers go over the network.
    std::optional<NamedMemory> marked;
    if (auto memory = NamedMemory::make(sizeof(question.mark)); on_host && memory) {
      std::random_device random;
      question.mark = (std::uint64_t{random()} << 32U) | random();
      marked.emplace(*std::move(memory));
      std::memcpy(marked->bytes().data(), &question.mark, sizeof(question.mark));
      question.memory = marked->name();
    }
    std::vector<RankQuestion> questions(static_cast<std::size_t>(ranks_), question);
    for (std::int32_t process = 0; process < ranks_; ++process) {
      questions[static_cast<std::size_t>(process)].index =
          index_of_process(process, ranks_, chooses_);
    }
    // The address at which the other processes have reached this process.
    const std::string& address = plan_.world.address;
    auto own = own_.room(questions.front(), address.substr(0, address.rfind(':')));
    if (!own) return own.error();
    auto rooms = host_->ask(questions);
    if (!rooms) return rooms.error();
    rooms->front() = *std::move(own);
    rooms_.resize(rooms->size());
    for (std::int32_t process = 0; process < ranks_; ++process) {
      RankRoom& room = (*rooms)[static_cast<std::size_t>(process)];
      addresses_.push_back(room.address);
      rooms_[index_of(process)] = std::move(room);
    }
    return {};
  }

  /// Whether ranks exchange numbers through memory.
  Result<bool> shares_memory() const {
    const std::optional<bool> by_network = plan_.world.by_network;
    if (by_network == true) return false;
    for (std::size_t rank = 0; rank < rooms_.size(); ++rank) {
      if (rooms_[rank].sees_memory) continue;
      if (!by_network) return false;
      return Error{DeviceErrc::kUnfit,
                   "rank " + std::to_string(rank) +
                       " does not see the head's memory, which all shall exchange numbers through"};
    }
    return true;
  }

  /// Fills in the fields that are equal in all setups.
  Result<RankSetup> settle() {
    auto limits = plan_.settle(rooms_);
    if (!limits) return limits.error();
    RankSetup setup;
    setup.limits = *limits;
    setup.kv_dtype = plan_.kv_dtype;
    setup.threads = plan_.threads;
    setup.partition = to_string(plan_.partition);
    if (!plan_.partition.stages.front().is_on_host()) {
      auto groups = gpus_.name_groups(plan_.partition.widths());
      if (!groups) return groups.error();
      setup.groups = *std::move(groups);
      return setup;
    }
    const auto shares = shares_memory();
    if (!shares) return shares.error();
    if (!*shares) {
      setup.addresses = addresses_;
      return setup;
    }
    const auto options =
        step_options(*plan_.model.program, setup.limits, setup.kv_dtype, setup.threads);
    auto memory =
        NamedMemory::make(SharedRanks::bytes(layout_of(plan_.model, plan_.partition, options)));
    if (!memory) return memory.error();
    memory_.emplace(*std::move(memory));
    setup.memory = memory_->name();
    return setup;
  }

  [[nodiscard]] RankSetup setup_of(std::int32_t process, const RankSetup& all) const {
    RankSetup setup = all;
    const std::size_t index = index_of(process);
    setup.index = static_cast<std::int32_t>(index);
    setup.neighbours = neighbours_of(rooms_, index);
    setup.fingerprint = fingerprint_of(*plan_.programs[index]);
    return setup;
  }

  const WorldPlan& plan_;
  const std::int32_t ranks_, chooses_;
  const WorldGpus gpus_;
  const std::stop_token stop_;
  WorldRank own_;
  std::shared_ptr<RankHost> host_;
  std::vector<RankRoom> rooms_;         // by rank
  std::vector<std::string> addresses_;  // by process
  std::optional<NamedMemory> memory_;
};

}  // namespace

Result<std::vector<std::unique_ptr<StepDevice>>> load_world(const WorldPlan& plan,
                                                            WorldRankOptions own) {
  if (std::cmp_not_equal(plan.world.size, plan.partition.ranks())) {
    return Error{DeviceErrc::kUnfit, "partition: " + std::to_string(plan.partition.ranks()) +
                                         " ranks, and the launcher has started " +
                                         std::to_string(plan.world.size) + " processes"};
  }
  return WorldHead(plan, std::move(own)).load();
}

}  // namespace weft
