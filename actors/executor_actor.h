#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/messages.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/core/metrics.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// The metrics of all executors.
struct ExecutorMetrics {
  explicit ExecutorMetrics(MetricsRegistry& registry, const std::string& model = {});

  Counter& steps;
  Histogram& step_seconds;
  Histogram& idle_seconds;  ///< between two steps, where the next plan was there in time
};

/// The ranks of one instance, as their executors share them. Thread-safe.
class RankGroup {
 public:
  explicit RankGroup(DeviceRanks devices) : devices_(std::move(devices)) {}

  [[nodiscard]] std::size_t size() const noexcept { return devices_.size(); }
  [[nodiscard]] StepDevice& device(std::size_t rank) const noexcept { return *devices_[rank]; }

  /// Makes every rank give up what it runs or is yet to run, for one of them will not: for good.
  void abandon() const noexcept {
    for (const auto& device : devices_) device->abandon();
  }
  /// Has `tell` called with the reason when a rank is lost between two steps; an empty one ends it.
  void watch(const std::function<void(const std::string& why)>& tell) const {
    for (const auto& device : devices_) device->watch(tell);
  }
  /// The ranks give up since the system stops, which is no failure of theirs.
  void note_stop() noexcept { stops_.store(true); }
  [[nodiscard]] bool stops() const noexcept { return stops_.load(); }

 private:
  const DeviceRanks devices_;
  std::atomic<bool> stops_{false};
};

/// What the instances of an executor share; only the actor's turn changes it.
struct ExecutorState {
  std::shared_ptr<RankGroup> ranks;
  std::size_t rank = 0;  ///< this executor's
  std::shared_ptr<ExecutorMetrics> metrics;
  std::shared_ptr<const TickPool> ticks;  ///< the scheduler's, which may exit while a step runs
  std::uint64_t generation = 0;           ///< of the newest scheduler that plans came from
  std::uint64_t last_lost = 0;            ///< that scheduler's last tick whose results were lost
  StepResult nothing{};                   ///< what a rank gives that does not sample
};

/// Runs plans on one rank, a step after the other. The first rank's executor takes them from the
/// scheduler and passes each on at once to the others; the last that is done with a tick gives it
/// back. The ranks wait for one another in the device alone.
///
/// The device outlives the actor: a new instance goes on with the same one. A plan that needs the
/// results of a lost step, or comes from a scheduler that has a successor, would find other rows
/// than it expects; it does not run, and comes back as lost, too.
///
/// Of several ranks, whatever one throws is kDeviceLost, and all are abandoned: none runs a plan to
/// its end that another has not. A plan that was passed on is run by every rank also when the
/// system stops meanwhile.
class ExecutorActor {
 public:
  using Accepts = ExecutorProtocol;

  /// `others` are the executors of the other ranks where this is the first one's, else none.
  ExecutorActor(ActorContext& context, std::shared_ptr<ExecutorState> state,
                const ActorRef<SchedulerProtocol>& scheduler,
                const std::vector<ActorRef<ExecutorProtocol>>& others);

  void on(StepMsg&& message);
  void on(DeviceLostMsg&& message);
  void undelivered(StepMsg&& message, const Error& why);
  void undelivered(DeviceLostMsg&& message, const Error& why);

 private:
  [[nodiscard]] bool leads() const noexcept { return state_->rank == 0; }
  void meet(const PipelineTick& tick) noexcept;
  [[nodiscard]] bool outdated(const PipelineTick& tick) const noexcept;
  [[nodiscard]] bool pass_on(PipelineTick& tick);
  void run(PipelineTick& tick);
  void run_with_others(PipelineTick& tick);
  [[nodiscard]] bool run_at_stop(PipelineTick& tick) noexcept;
  void lose(PipelineTick& tick, const Error& why) noexcept;
  void give_back(PipelineTick& tick, std::unique_ptr<Error> failure) noexcept;

  ActorContext& context_;
  const std::shared_ptr<ExecutorState> state_;
  Sender<SchedulerProtocol> scheduler_;
  std::vector<Sender<ExecutorProtocol>> others_;
  std::uint64_t last_tick_ = 0;
  TimePoint last_end_{};
};

}  // namespace weft
