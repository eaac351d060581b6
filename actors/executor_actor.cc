#include "weft/actors/executor_actor.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "weft/actors/model_label.h"
#include "weft/core/actor/supervision.h"

namespace weft {
namespace {

/// Returns a copy on the heap, or null if there is no memory for it.
std::unique_ptr<Error> copy_of(const Error& why) noexcept {
  try {
    return std::make_unique<Error>(why);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

ExecutorMetrics::ExecutorMetrics(MetricsRegistry& registry, const std::string& model)
    : steps(registry.counter("weft_steps_total", "Fused steps run", with_model(model))),
      step_seconds(registry.histogram("weft_step_seconds", "Time of a fused step", kTickBounds,
                                      with_model(model))),
      idle_seconds(registry.histogram("weft_device_idle_seconds",
                                      "Time a device waited between two steps that were both due",
                                      kTickBounds, with_model(model))) {}

ExecutorActor::ExecutorActor(ActorContext& context, std::shared_ptr<ExecutorState> state,
                             const ActorRef<ExecutorProtocol>& self,
                             const ActorRef<SchedulerProtocol>& scheduler,
                             const std::vector<ActorRef<ExecutorProtocol>>& others)
    : context_(context),
      state_(std::move(state)),
      self_(self.sender(context.id())),
      scheduler_(scheduler.sender(context.id())) {
  others_.reserve(others.size());
  for (const auto& other : others) others_.push_back(other.sender(context.id()));
}

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
  if (leads()) {
    if (!tick.take(message.number)) return;
    stop_training();
    meet(tick);
    const bool runs = !outdated(tick);
    tick.begin(runs ? state_->ranks->size() : 1);
    if (!runs) return lose(tick, {CoreErrc::kActorFailed, "a step before it was lost"});
    if (!pass_on(tick)) return;
  }
  state_->ranks->size() > 1 ? run_with_others(tick) : run(tick);
}

void ExecutorActor::on(DeviceLostMsg&& message) {
  state_->ranks->abandon();
  throw ActorFailure(ExitKind::kDeviceLost, message.why);
}

void ExecutorActor::undelivered(DeviceLostMsg&& /*message*/, const Error& /*why*/) {}

/// Returns false when the system stops and another rank has left already; then the tick is lost.
bool ExecutorActor::pass_on(PipelineTick& tick) {
  for (std::size_t i = 0; i < others_.size(); ++i) {
    const PushResult result = others_[i].try_send(StepMsg{&tick, tick.number});
    if (taken(result)) continue;
    // Ranks that have the tick will not get what they need from the other ranks.
    tick.lose();
    static_cast<void>(tick.leave(others_.size() - i));  // this rank itself leaves later
    const bool stops = result == PushResult::kClosed && context_.system_ready();
    if (stops) state_->ranks->note_stop();
    state_->ranks->abandon();
    if (!stops) throw ActorFailure(ExitKind::kDeviceLost, "another rank is lost");
    lose(tick, {CoreErrc::kStopped, {}});
    return false;
  }
  return true;
}

void ExecutorActor::run(PipelineTick& tick) {
  StepDevice& device = state_->ranks->device(state_->rank);
  const bool samples = device.samples();
  StepResult& result = samples ? tick.result : state_->nothing;
  if (!samples) result.clear();
  using Seconds = std::chrono::duration<double>;
  const TimePoint began = context_.now();
  if (leads() && tick.number == last_tick_ + 1 && tick.due_at_once) {
    state_->metrics->idle_seconds.observe(Seconds(began - last_end_).count());
  }
  device.run(tick.plan, result);
  last_end_ = context_.now();
  last_tick_ = tick.number;
  tick.note_took(result.took == Duration{} ? last_end_ - began : result.took);
  if (tick.plan.training_pieces > 0 && state_->training != nullptr) return train(tick);
  if (tick.leave()) give_back(tick, nullptr);
}

/// Carries out the training of a plan that has run, or begins with it.
void ExecutorActor::train(PipelineTick& tick) {
  state_->trained = &tick;
  if (tick.plan.entries.empty()) return continue_training();
  for (std::int32_t i = 0; i < tick.plan.training_pieces && run_piece(tick); ++i) {
  }
  stop_training();
}

void ExecutorActor::on(PieceMsg&& message) {
  if (state_->trained == nullptr || state_->trained->number != message.number) return;
  const bool goes_on = run_piece(*state_->trained);
  goes_on ? continue_training() : stop_training();
}

void ExecutorActor::undelivered(PieceMsg&& message, const Error& /*why*/) {
  if (state_->trained != nullptr && state_->trained->number == message.number) stop_training();
}

/// Sees to the next piece, unless a newer plan waits.
void ExecutorActor::continue_training() noexcept {
  const std::uint64_t number = state_->trained->number;
  const bool waits = state_->ticks->newest_sent() > number;
  if (waits || !taken(self_.try_send(PieceMsg{number}))) stop_training();
}

/// Runs a piece, and returns whether another one may follow in this plan.
bool ExecutorActor::run_piece(PipelineTick& tick) noexcept {
  // A plan may have been sent since the piece was seen to.
  if (tick.plan.entries.empty() && state_->ticks->newest_sent() > tick.number) return false;
  const std::shared_ptr<TrainingState> task = state_->training->task();
  if (task == nullptr) return false;
  const TimePoint began = context_.now();
  const std::optional<TrainingPiece> piece = task->run_piece();
  last_end_ = context_.now();
  if (!piece) return false;
  const Duration took = piece->took == Duration{} ? last_end_ - began : piece->took;
  TrainingDone& done = tick.result.training;
  ++done.pieces;
  done.took += took;
  done.longest = std::max(done.longest, took);
  done.ends_iteration = piece->ends_iteration;
  return !piece->ends_iteration && !piece->ends_work;
}

/// Gives back the tick whose training goes on, if there is one.
void ExecutorActor::stop_training() noexcept {
  PipelineTick* const tick = std::exchange(state_->trained, nullptr);
  if (tick != nullptr && tick->leave()) give_back(*tick, nullptr);
}

void ExecutorActor::run_with_others(PipelineTick& tick) {
  try {
    run(tick);
  } catch (...) {
    state_->ranks->abandon();
    if (!state_->ranks->stops()) {
      throw ActorFailure(ExitKind::kDeviceLost, exit_reason(std::current_exception()).what);
    }
    lose(tick, {CoreErrc::kStopped, {}});
  }
}

/// Runs a plan at the stop, since other ranks run it and wait. Returns false if it was lost.
bool ExecutorActor::run_at_stop(PipelineTick& tick) noexcept {
  try {
    run(tick);
    return true;
  } catch (...) {
    return false;
  }
}

void ExecutorActor::undelivered(StepMsg&& message, const Error& why) {
  PipelineTick& tick = *message.tick;
  if (leads()) {
    // The message was being handled when the device failed, or is still in the queue.
    if (!tick.held_by(message.number, PipelineTick::Holder::kExecutor)) {
      if (!tick.take(message.number)) return;
      tick.begin(1);
    }
    return lose(tick, why);
  }
  if (why.code == CoreErrc::kStopped && run_at_stop(tick)) return;
  state_->ranks->abandon();
  lose(tick, why);
}

void ExecutorActor::lose(PipelineTick& tick, const Error& why) noexcept {
  meet(tick);
  if (tick.generation == state_->generation) state_->last_lost = tick.number;
  tick.lose();
  if (tick.leave()) give_back(tick, copy_of(why));
}

void ExecutorActor::give_back(PipelineTick& tick, std::unique_ptr<Error> failure) noexcept {
  if (!tick.lost()) {
    tick.result.took = tick.took();
    // A plan of training alone is no step.
    if (tick.plan.training_pieces == 0 || !tick.plan.entries.empty()) {
      state_->metrics->steps.add();
      state_->metrics->step_seconds.observe(
          std::chrono::duration<double>(tick.result.took).count());
    }
  }
  tick.set_holder(PipelineTick::Holder::kDone);
  scheduler_.try_send(StepDoneMsg{&tick, std::move(failure)});
}

}  // namespace weft
