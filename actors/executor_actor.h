#pragma once

#include <memory>

#include "weft/actors/messages.h"
#include "weft/core/actor.h"
#include "weft/core/actor_ref.h"
#include "weft/core/metrics.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// What one executor measures.
struct ExecutorMetrics {
  explicit ExecutorMetrics(MetricsRegistry& registry);

  Counter& steps;
  Histogram& step_seconds;
  Histogram& idle_seconds;  ///< between two steps, where the next plan was there in time
};

/// Runs plans on its device, one fused step after the other, and gives the ticks back. The device
/// outlives it: a new instance goes on with the same one.
class ExecutorActor {
 public:
  using Accepts = ExecutorProtocol;

  /// `ticks` are the scheduler's, who may exit while a step runs.
  ExecutorActor(ActorContext& context, std::shared_ptr<StepDevice> device,
                std::shared_ptr<const TickPool> ticks, std::shared_ptr<ExecutorMetrics> metrics,
                const ActorRef<SchedulerProtocol>& scheduler);

  void on(StepMsg&& message);
  void undelivered(StepMsg&& message, const Error& why);

 private:
  ActorContext& context_;
  const std::shared_ptr<StepDevice> device_;
  const std::shared_ptr<const TickPool> ticks_;
  const std::shared_ptr<ExecutorMetrics> metrics_;
  Sender<SchedulerProtocol> scheduler_;
  std::uint64_t last_tick_ = 0;
  TimePoint last_end_{};
};

}  // namespace weft
