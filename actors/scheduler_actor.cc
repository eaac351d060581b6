#include "weft/actors/scheduler_actor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/actors/request/request_text.h"
#include "weft/core/error/internal_error.h"

namespace weft {

SchedulerActor::SchedulerActor(ActorContext& context, std::shared_ptr<SchedulerState> state,
                               const ActorRef<ExecutorProtocol>& executor,
                               const ActorRef<DetokenizerProtocol>& detokenizer)
    : context_(context),
      state_(std::move(state)),
      generation_(++state_->generations),
      numbers_before_(state_->last_number),
      requests_(scheduler_, state_->options, state_->ending, [this] { return context_.now(); }),
      scheduler_(state_->options, requests_),
      executor_(executor.sender(context.id())),
      detokenizer_(detokenizer.sender(context.id())),
      timer_(context.make_timer([this] { after_message(); })) {
  under_way_.reserve(state_->most_under_way());
  state_->ticks.reclaim();
  publish();
  // A predecessor may have failed over the message that told of the task.
  if (state_->training && state_->training->wanted() != 0) timer_.arm_at(context_.now());
}

void SchedulerActor::on(EnqueueMsg&& message) {
  begin_message();
  tell_of_guesses(message.group->spec);
  requests_.take(std::move(message.group), context_.now());
  after_message();
}

/// Reports once a replica that some requests run without guesses although the device guesses.
void SchedulerActor::tell_of_guesses(const GroupSpec& spec) {
  if (state_->options.limits.guesses == 0 || state_->told_of_guesses || !state_->notice) return;
  if (!spec.generates() || spec.most_guesses == 0) return;
  const bool is_processed = spec.sampling->logit_processor != nullptr;
  const bool depends = state_->options.limits.chooses_at_once && spec.depends_on_guesses();
  if (!is_processed && !spec.beams() && !depends) return;
  const char* const reason = is_processed   ? "a logit processor"
                             : spec.beams() ? "beams"
                                            : "penalties or a structured output on a GPU";
  state_->told_of_guesses = true;
  state_->notice(std::string("speculation: a request with ")
                     .append(reason)
                     .append(" runs without guesses, as all such requests do; each replica says "
                             "this once"));
}

void SchedulerActor::on(EndingMsg&& /*message*/) {
  begin_message();
  after_message();
}

void SchedulerActor::on(TrainingMsg&& /*message*/) {
  begin_message();
  after_message();
}

void SchedulerActor::on(StepDoneMsg&& message) {
  begin_message();
  // Takes the tick from the message, in case a statement below throws.
  PipelineTick& tick = *std::exchange(message.tick, nullptr);
  if (tick.generation != generation_) {
    tick.set_free();
    return after_message();  // it may have had no tick to plan with
  }
  tick.set_holder(PipelineTick::Holder::kScheduler);  // so that a successor finds it
  if (tick.returned || std::ranges::find(under_way_, &tick) == under_way_.end()) {
    internal_error("a tick comes back that is not under way");
  }
  tick.returned = true;
  tick.failure = std::move(message.failure);
  // The ranks' messages come in any order; results are taken in the order of the plans.
  while (!under_way_.empty() && under_way_.front()->returned) {
    PipelineTick& first = *under_way_.front();
    under_way_.erase(under_way_.begin());
    take_tick(first);
  }
  after_message();
}

void SchedulerActor::take_tick(PipelineTick& tick) {
  if (newest_ == &tick) newest_ = nullptr;
  // Their memory is not kept by ticks at rest. It is the scheduler's or the device's from here on.
  tick.plan.adapters.clear();
  if (tick.lost()) {
    tick.events.clear();
    const auto failure = std::move(tick.failure);
    scheduler_.fail(tick, {EngineErrc::kDeviceFailed, failure ? failure->detail : std::string()});
  } else {
    requests_.complete(tick);
  }
  if (tick.events.empty()) {
    tick.set_free();
  } else {
    tick.stop_hits.clear();
    tick.set_holder(PipelineTick::Holder::kDone);
    if (!taken(detokenizer_.try_send(DeliverMsg{&tick}))) tick.set_free();
  }
}

void SchedulerActor::on(TickFreeMsg&& message) {
  begin_message();
  if (message.tick != nullptr) {
    // The message keeps the tick until it is free, in case a statement here throws.
    if (message.tick->generation == generation_) requests_.end_sequences(message.tick->stop_hits);
    std::exchange(message.tick, nullptr)->set_free();
  }
  after_message();
}

void SchedulerActor::begin_message() const {
  if (state_->observer) state_->observer->before_message();
}

void SchedulerActor::after_message() {
  const TimePoint now = context_.now();
  requests_.end_due(now);
  look_at_training(now);
  change_queued_plan(now);
  make_plans(now);
  send_ends();
  arm_timer();
  publish();
  if (state_->observer) state_->observer->after_message(scheduler_);
}

void SchedulerActor::look_at_training(TimePoint now) {
  if (state_->training) scheduler_.train(state_->training->wanted(), now);
}

void SchedulerActor::publish() {
  state_->stats->set(state_->replica, scheduler_.stats());
  if (rows_published_ != scheduler_.row_changes()) publish_rows();
}

/// Publishes that no row and no page is in use.
void SchedulerActor::publish_empty() {
  SchedulerStats stats = scheduler_.stats();
  stats.running = stats.waiting = 0;
  stats.adapters.running = stats.adapters.waiting = 0;
  stats.prefixes.pages = 0;
  stats.prefixes.on_host = 0;
  stats.pages_free = state_->options.limits.pages;
  state_->stats->set(state_->replica, stats);
  for (std::int32_t row = 0; row < state_->options.limits.rows; ++row) {
    state_->stats->set_row(state_->replica, row, {});
  }
}

void SchedulerActor::publish_rows() {
  rows_published_ = scheduler_.row_changes();
  for (std::int32_t row = 0; row < state_->options.limits.rows; ++row) {
    const RowUse use = scheduler_.row_use(row);
    RowHolder holder;
    if (use.group != nullptr) {
      holder = {static_cast<const RequestGroup*>(use.group)->ticket->id(), use.decodes};
    }
    state_->stats->set_row(state_->replica, row, holder);
  }
}

// Updates the plan that waits for the executor with arrivals and ends.
void SchedulerActor::change_queued_plan(TimePoint now) {
  if (newest_ == nullptr || !scheduler_.changed(now)) return;
  PipelineTick& tick = *newest_;
  // A plan from before a loss comes back as lost, and would take requests along that arrived since.
  if (tick.plan.tick < scheduler_.needs_from()) return;
  if (!tick.take_back()) return;
  scheduler_.amend(now, tick);
  tick.needs_from = numbers_before_ + scheduler_.needs_from();
  // A tick sends one message, however often its plan changes, so the executor's mailbox is never
  // full.
  if (!tick.requeue()) return;
  const PushResult result = executor_.try_send(StepMsg{&tick, tick.number});
  if (taken(result)) return;
  // The executor has ended meanwhile: it dropped the first message while the tick was here.
  under_way_.pop_back();
  newest_ = nullptr;
  refuse(tick, result);
}

/// Ends a plan that the executor no longer takes.
void SchedulerActor::refuse(PipelineTick& tick, PushResult result) {
  const bool trains = tick.plan.training_pieces > 0;
  tick.set_free();
  const Error why = refusal_of(result, context_.system_ready());
  scheduler_.fail(tick, why);
  if (!trains) return;
  // Otherwise the same plan would be made again at once, without end.
  scheduler_.train(0, context_.now());
  state_->training->fail(why);
}

void SchedulerActor::make_plans(TimePoint now) {
  while (under_way_.size() < state_->most_under_way()) {
    PipelineTick* tick = state_->ticks.find_free();
    if (tick == nullptr || !scheduler_.plan(now, *tick)) return;
    queue(*tick);
  }
}

void SchedulerActor::queue(PipelineTick& tick) {
  tick.generation = generation_;
  tick.needs_from = numbers_before_ + scheduler_.needs_from();
  // Numbers are never reused, so a predecessor's late message matches no tick.
  tick.number = state_->last_number = numbers_before_ + tick.plan.tick;
  tick.due_at_once = under_way_.size() + 1 == state_->most_under_way();
  tick.returned = false;
  tick.set_holder(PipelineTick::Holder::kQueued);
  state_->ticks.note_sent(tick.number);
  const PushResult result = executor_.try_send(StepMsg{&tick, tick.number});
  if (!taken(result)) {
    newest_ = nullptr;  // the previous plan can no longer be amended
    return refuse(tick, result);
  }
  under_way_.push_back(&tick);
  newest_ = &tick;
}

void SchedulerActor::send_ends() {
  for (EndMsg& end : requests_.ends()) {
    const PushResult result = detokenizer_.try_send(std::move(end));
    if (taken(result)) continue;
    // The detokenizer no longer makes its text. If the request has an error of its own, that error
    // says more.
    const bool known = static_cast<bool>(end.error.code);
    std::move(end.ticket)
        .fail(known ? std::move(end.error) : refusal_of(result, context_.system_ready()));
  }
  requests_.ends().clear();
}

void SchedulerActor::arm_timer() {
  const auto window = scheduler_.wake_at();
  const auto deadline = requests_.next_deadline();
  const TimePoint next =
      std::min(window.value_or(TimePoint::max()), deadline.value_or(TimePoint::max()));
  if (next == TimePoint::max() || next == armed_for_) return;
  armed_for_ = next;
  timer_.arm_at(next);
}

void SchedulerActor::undelivered(EnqueueMsg&& message, const Error& why) {
  if (message.group) std::move(message.group->ticket).fail(why);
}

void SchedulerActor::undelivered(EndingMsg&& /*message*/, const Error& /*why*/) {}

void SchedulerActor::undelivered(TrainingMsg&& /*message*/, const Error& /*why*/) {}

void SchedulerActor::undelivered(StepDoneMsg&& message, const Error& /*why*/) {
  if (message.tick == nullptr) return;
  message.tick->set_free();
}

void SchedulerActor::undelivered(TickFreeMsg&& message, const Error& /*why*/) {
  if (message.tick != nullptr) message.tick->set_free();
}

void SchedulerActor::exiting(const Error& why) {
  requests_.fail_all(why);
  send_ends();
  publish_empty();
  // It may have no successor to plan training.
  if (state_->training && !context_.system_ready()) {
    state_->training->fail({EngineErrc::kNotReady, {}});
  }
}

}  // namespace weft
