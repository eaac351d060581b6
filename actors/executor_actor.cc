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

ExecutorActor::ExecutorActor(ActorContext& context, std::shared_ptr<ExecutorState> state,
                             const ActorRef<SchedulerProtocol>& scheduler)
    : context_(context), state_(std::move(state)), scheduler_(scheduler.sender(context.id())) {}

void ExecutorActor::meet(const PipelineTick& tick) noexcept {
  if (tick.generation <= state_->generation) return;
  state_->generation = tick.generation;
  state_->last_lost = 0;
}

bool ExecutorActor::outdated(const PipelineTick& tick) const noexcept {
  return tick.generation < state_->generation || tick.needs_from <= state_->last_lost;
}

void ExecutorActor::on(StepMsg&& message) {
  PipelineTick& tick = *message.tick;
  if (!tick.take(message.number)) return;
  meet(tick);
  if (outdated(tick)) {
    return give_back_lost(tick, {CoreErrc::kActorFailed, "a step before it was lost"});
  }
  ExecutorMetrics& metrics = *state_->metrics;
  using Seconds = std::chrono::duration<double>;
  const TimePoint began = context_.now();
  if (message.number == last_tick_ + 1 && tick.due_at_once) {
    metrics.idle_seconds.observe(Seconds(began - last_end_).count());
  }
  state_->device->run(tick.plan, tick.result);
  last_end_ = context_.now();
  last_tick_ = message.number;
  if (tick.result.took == Duration{}) tick.result.took = last_end_ - began;
  metrics.steps.add();
  metrics.step_seconds.observe(Seconds(tick.result.took).count());
  tick.set_holder(PipelineTick::Holder::kDone);
  scheduler_.try_send(StepDoneMsg{&tick, nullptr});
}

void ExecutorActor::undelivered(StepMsg&& message, const Error& why) {
  PipelineTick& tick = *message.tick;
  // The message was in hand when the device failed, or is still in the queue.
  const bool mine =
      tick.held_by(message.number, PipelineTick::Holder::kExecutor) || tick.take(message.number);
  if (mine) give_back_lost(tick, why);
}

void ExecutorActor::give_back_lost(PipelineTick& tick, const Error& why) {
  meet(tick);
  if (tick.generation == state_->generation) state_->last_lost = tick.number;
  tick.set_holder(PipelineTick::Holder::kDone);
  scheduler_.try_send(StepDoneMsg{&tick, std::make_unique<Error>(why)});
}

}  // namespace weft
