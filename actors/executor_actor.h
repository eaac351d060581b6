#pragma once

#include <cstdint>
#include <memory>

#include "weft/actors/messages.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/core/metrics.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// The metrics of one executor.
struct ExecutorMetrics {
  explicit ExecutorMetrics(MetricsRegistry& registry);

  Counter& steps;
  Histogram& step_seconds;
  Histogram& idle_seconds;  ///< between two steps, where the next plan was there in time
};

/// What the instances of an executor share; only the actor's turn changes it.
struct ExecutorState {
  std::shared_ptr<StepDevice> device;
  std::shared_ptr<ExecutorMetrics> metrics;
  std::shared_ptr<const TickPool> ticks;  ///< the scheduler's, which may exit while a step runs
  std::uint64_t generation = 0;           ///< of the newest scheduler that plans came from
  std::uint64_t last_lost = 0;            ///< that scheduler's last tick whose results were lost
};

/// Runs plans on its device, one fused step after the other, and gives the ticks back. The device
/// outlives it: a new instance goes on with the same one. A plan that needs the results of a lost
/// step, or comes from a scheduler that has a successor, would find other rows than it expects; it
/// does not run, and comes back as lost, too.
class ExecutorActor {
 public:
  using Accepts = ExecutorProtocol;

  ExecutorActor(ActorContext& context, std::shared_ptr<ExecutorState> state,
                const ActorRef<SchedulerProtocol>& scheduler);

  void on(StepMsg&& message);
  void undelivered(StepMsg&& message, const Error& why);

 private:
  void meet(const PipelineTick& tick) noexcept;
  [[nodiscard]] bool outdated(const PipelineTick& tick) const noexcept;
  void give_back_lost(PipelineTick& tick, const Error& why);

  ActorContext& context_;
  const std::shared_ptr<ExecutorState> state_;
  Sender<SchedulerProtocol> scheduler_;
  std::uint64_t last_tick_ = 0;
  TimePoint last_end_{};
};

}  // namespace weft
