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
#include "weft/actors/training/training_slot.h"
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
  Histogram& idle_seconds;  ///< between two steps, if the next plan was ready in time
};

/// The ranks of one instance, shared by their executors. Thread-safe.
class RankGroup {
 public:
  explicit RankGroup(DeviceRanks devices) : devices_(std::move(devices)) {}

  [[nodiscard]] std::size_t size() const noexcept { return devices_.size(); }
  [[nodiscard]] StepDevice& device(std::size_t rank) const noexcept { return *devices_[rank]; }

  /// Makes every rank give up its present and later steps permanently, because one rank has failed.
  void abandon() const noexcept {
    for (const auto& device : devices_) device->abandon();
  }
  /// Calls `tell` with the reason when a rank is lost between two steps. An empty `tell` ends it.
  void watch(const std::function<void(const std::string& why)>& tell) const {
    for (const auto& device : devices_) device->watch(tell);
  }
  /// The ranks will give up because the system stops, which is no failure.
  void note_stop() noexcept { stops_.store(true); }
  [[nodiscard]] bool stops() const noexcept { return stops_.load(); }

 private:
  const DeviceRanks devices_;
  std::atomic<bool> stops_{false};
};

/// The state shared by successive instances of an executor; only the running instance changes it.
struct ExecutorState {
  std::shared_ptr<RankGroup> ranks;
  std::size_t rank = 0;  ///< this executor's rank
  std::shared_ptr<ExecutorMetrics> metrics;
  std::shared_ptr<const TickPool> ticks;   ///< the scheduler's, which may exit while a step runs
  std::uint64_t generation = 0;            ///< names the newest scheduler that sent plans
  std::uint64_t last_lost = 0;             ///< the scheduler's last tick with lost results
  StepResult nothing{};                    ///< the result of a rank that does not sample
  std::shared_ptr<TrainingSlot> training;  ///< null: the device does not train
  /// The tick whose plan has run and whose training goes on with the next PieceMsg; null: none.
  PipelineTick* trained = nullptr;
};

/// Runs plans on one rank, one step after the other. The first rank's executor gets plans from the
/// scheduler and passes each on at once to the other ranks; the last rank to finish a tick gives it
/// back. Ranks wait for one another only in the device.
///
/// The device outlives the actor: a new instance continues with the same device. A plan that needs
/// the results of a lost step, or comes from a scheduler that has been replaced, would find wrong
/// rows; it does not run, and comes back as lost.
///
/// After a plan's entries it runs the plan's training, on its own thread. In a plan without entries
/// the training stops between two pieces when a newer plan was sent. The tick is given back once
/// its training has stopped. If training fails, its task ends, but no step.
///
/// With several ranks, any exception is kDeviceLost and abandons all ranks, so no rank completes a
/// plan that another has not. Every rank runs a plan that was passed on, even if the system stops
/// meanwhile.
class ExecutorActor {
 public:
  using Accepts = ExecutorProtocol;

  /// `others` are the other ranks' executors if this is the first rank's; otherwise empty.
  ExecutorActor(ActorContext& context, std::shared_ptr<ExecutorState> state,
                const ActorRef<ExecutorProtocol>& self,
                const ActorRef<SchedulerProtocol>& scheduler,
                const std::vector<ActorRef<ExecutorProtocol>>& others);

  void on(StepMsg&& message);
  void on(PieceMsg&& message);
  void on(DeviceLostMsg&& message);
  void undelivered(StepMsg&& message, const Error& why);
  void undelivered(PieceMsg&& message, const Error& why);
  void undelivered(DeviceLostMsg&& message, const Error& why);

 private:
  [[nodiscard]] bool leads() const noexcept { return state_->rank == 0; }
  void meet(const PipelineTick& tick) noexcept;
  [[nodiscard]] bool outdated(const PipelineTick& tick) const noexcept;
  [[nodiscard]] bool pass_on(PipelineTick& tick);
  void run(PipelineTick& tick);
  void run_with_others(PipelineTick& tick);
  void train(PipelineTick& tick);
  [[nodiscard]] bool run_piece(PipelineTick& tick) noexcept;
  void continue_training() noexcept;
  void stop_training() noexcept;
  [[nodiscard]] bool run_at_stop(PipelineTick& tick) noexcept;
  void lose(PipelineTick& tick, const Error& why) noexcept;
  void give_back(PipelineTick& tick, std::unique_ptr<Error> failure) noexcept;

  ActorContext& context_;
  const std::shared_ptr<ExecutorState> state_;
  Sender<ExecutorProtocol> self_;
  Sender<SchedulerProtocol> scheduler_;
  std::vector<Sender<ExecutorProtocol>> others_;
  std::uint64_t last_tick_ = 0;
  TimePoint last_end_{};
};

}  // namespace weft
