#include "weft/actors/executor_actor.h"

#include <chrono>
#include <utility>

namespace weft {

ExecutorMetrics::ExecutorMetrics(MetricsRegistry& registry)
    : steps(registry.counter("weft_steps_total", "Fused steps run")),
      step_seconds(registry.histogram("weft_step_seconds", "Time of a fused step", kTickBounds)),
      idle_seconds(registry.histogram("weft_device_idle_seconds",
                                      "Time a device waited between two steps that were both due",
                                      kTickBounds)) {}

ExecutorActor::ExecutorActor(ActorContext& context, std::shared_ptr<StepDevice> device,
                             std::shared_ptr<const TickPool> ticks,
                             std::shared_ptr<ExecutorMetrics> metrics,
                             const ActorRef<SchedulerProtocol>& scheduler)
    : context_(context),
      device_(std::move(device)),
      ticks_(std::move(ticks)),
      metrics_(std::move(metrics)),
      scheduler_(scheduler.sender(context.id())) {}

void ExecutorActor::on(StepMsg&& message) {
  PipelineTick& tick = *message.tick;
  if (!tick.take(message.number)) return;
  using Seconds = std::chrono::duration<double>;
  const TimePoint began = context_.now();
  if (message.number == last_tick_ + 1 && tick.due_at_once) {
    metrics_->idle_seconds.observe(Seconds(began - last_end_).count());
  }
  device_->run(tick.plan, tick.result);
  last_end_ = context_.now();
  last_tick_ = message.number;
  if (tick.result.took == Duration{}) tick.result.took = last_end_ - began;
  metrics_->steps.add();
  metrics_->step_seconds.observe(Seconds(tick.result.took).count());
  tick.set_holder(PipelineTick::Holder::kDone);
  scheduler_.try_send(StepDoneMsg{&tick, nullptr});
}

void ExecutorActor::undelivered(StepMsg&& message, const Error& why) {
  PipelineTick& tick = *message.tick;
  // In hand when the device failed, or still in the queue.
  const bool mine =
      tick.held_by(message.number, PipelineTick::Holder::kExecutor) || tick.take(message.number);
  if (!mine) return;
  tick.set_holder(PipelineTick::Holder::kDone);
  scheduler_.try_send(StepDoneMsg{&tick, std::make_unique<Error>(why)});
}

}  // namespace weft
