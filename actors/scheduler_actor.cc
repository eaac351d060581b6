#include "weft/actors/scheduler_actor.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/actors/request/request_text.h"
#include "weft/core/error/internal_error.h"
#include "weft/sampling/best_of.h"

namespace weft {
namespace {

// Returns the outputs in the order in which the caller gets them.
std::vector<OutputEnd> outputs_of(RequestGroup& group) {
  const SamplingParams& sampling = *group.spec.sampling;
  std::vector<OutputEnd> outputs;
  if (group.beams) {
    group.beams->finish();
    for (BeamHypothesis& one : group.beams->best(static_cast<std::size_t>(sampling.n))) {
      outputs.push_back({.sequence = static_cast<std::int32_t>(outputs.size()),
                         .end = one.ended ? SequenceEnd::kStop : SequenceEnd::kLength,
                         .cumulative_logprob = one.score,
                         .tokens = std::move(one.tokens),
                         .logprobs = std::move(one.logprobs)});
    }
    return outputs;
  }
  for (std::size_t i = 0; i < group.sequences.size(); ++i) {
    const Sequence& sequence = group.sequences[i];
    outputs.push_back({.sequence = static_cast<std::int32_t>(i),
                       .end = sequence.end,
                       .cumulative_logprob = sequence.cumulative_logprob});
  }
  if (std::cmp_greater_equal(sampling.n, outputs.size())) return outputs;
  std::vector<OutputScore> scores;
  for (const Sequence& one : group.sequences) {
    scores.push_back({one.cumulative_logprob, one.outputs.size()});
  }
  std::vector<OutputEnd> best;
  for (const std::size_t place : best_outputs(scores, static_cast<std::size_t>(sampling.n))) {
    best.push_back(std::move(outputs[place]));
  }
  return best;
}

std::int32_t prompt_tokens_of(const GroupSpec& spec) {
  const auto& said = spec.encoder_input.empty() ? spec.prompt : spec.encoder_input;
  return static_cast<std::int32_t>(said.size());
}

// None for a timeout that no clock lives to see.
std::optional<TimePoint> deadline_of(ActiveRequest& request) {
  using std::chrono::milliseconds;
  const TimePoint arrived = request.times().arrived;
  const milliseconds timeout = request.request().timeout;
  const auto most = std::chrono::floor<milliseconds>(TimePoint::max() - arrived);
  if (timeout <= milliseconds{0} || timeout > most) return std::nullopt;
  return arrived + timeout;
}

GroupEnd end_of(EndCause cause) {
  if (cause == EndCause::kStop) return GroupEnd::kStopped;
  return cause == EndCause::kCancel || cause == EndCause::kSlowReader ? GroupEnd::kCancelled
                                                                      : GroupEnd::kFailed;
}

}  // namespace

SchedulerActor::SchedulerActor(ActorContext& context, std::shared_ptr<SchedulerState> state,
                               const ActorRef<ExecutorProtocol>& executor,
                               const ActorRef<DetokenizerProtocol>& detokenizer)
    : context_(context),
      state_(std::move(state)),
      generation_(++state_->generations),
      scheduler_(state_->options, *this),
      executor_(executor.sender(context.id())),
      detokenizer_(detokenizer.sender(context.id())),
      timer_(context.make_timer([this] { after_message(); })) {
  under_way_.reserve(state_->most_under_way());
  state_->ticks.reclaim();
  publish();
}

void SchedulerActor::on(EnqueueMsg&& message) {
  begin_message();
  make_place_for_end();
  RequestGroup& group = *message.group;
  ActiveRequest& request = *group.ticket;
  const TimePoint now = context_.now();
  request.times().queued = now;
  const std::string refusal = scheduler_.never_fits(group.spec);
  const EndCause cause = request.end_cause();
  if (!refusal.empty() || cause != EndCause::kNone) {
    EndMsg end{std::move(group.ticket), std::move(group.text), GroupEnd::kFailed, {}, {}, 0};
    // From here on its ticket is not the message's any more, should something below fail.
    const std::unique_ptr<RequestGroup> owned = std::move(message.group);
    if (!refusal.empty()) {
      end.error = {EngineErrc::kNeverFits, refusal};
    } else {
      end.how = end_of(cause);
      end.error = cause == EndCause::kStop ? Error{} : request_ending(cause);
      end.outputs.resize(static_cast<std::size_t>(group.spec.sampling->n));
    }
    ends_.push_back(std::move(end));
  } else {
    group.order = ++arrivals_;
    if (const auto when = deadline_of(request)) add_deadline({*when, group.ticket.share()});
    request.admit(prompt_tokens_of(group.spec));
    scheduler_.submit(std::move(message.group), now);
    groups_.emplace(request.id(), &group);  // last: exiting() relies on what it finds here
  }
  after_message();
}

void SchedulerActor::on(EndingMsg&& /*message*/) {
  begin_message();
  after_message();
}

void SchedulerActor::on(StepDoneMsg&& message) {
  begin_message();
  // From here on the tick is not the message's any more, should something below fail.
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
  // The ranks' messages come in any order, results are taken in that of the plans.
  while (!under_way_.empty() && under_way_.front()->returned) {
    PipelineTick& first = *under_way_.front();
    under_way_.erase(under_way_.begin());
    take_tick(first);
  }
  after_message();
}

void SchedulerActor::take_tick(PipelineTick& tick) {
  if (newest_ == &tick) newest_ = nullptr;
  tick.events.clear();
  if (tick.lost()) {
    const auto failure = std::move(tick.failure);
    scheduler_.fail(tick, {EngineErrc::kDeviceFailed, failure ? failure->detail : std::string()});
  } else {
    completing_ = &tick;
    scheduler_.complete(tick);
    completing_ = nullptr;
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
    // The message keeps the tick until it is free, should something fail here.
    if (message.tick->generation == generation_) end_sequences(message.tick->stop_hits);
    std::exchange(message.tick, nullptr)->set_free();
  }
  after_message();
}

void SchedulerActor::end_sequences(std::span<const StopHit> hits) {
  for (const StopHit& hit : hits) {
    const auto found = groups_.find(hit.request);
    if (found != groups_.end()) scheduler_.end_sequence(*found->second, hit.sequence);
  }
}

void SchedulerActor::begin_message() const {
  if (state_->observer) state_->observer->before_message();
}

void SchedulerActor::after_message() {
  const TimePoint now = context_.now();
  take_endings();
  expire(now);
  change_queued_plan(now);
  make_plans(now);
  send_ends();
  arm_timer();
  publish();
  if (state_->observer) state_->observer->after_message(scheduler_);
}

void SchedulerActor::publish() {
  state_->stats->set(state_->replica, scheduler_.stats());
  if (rows_published_ != scheduler_.row_changes()) publish_rows();
}

/// Publishes that no row and no page is in use.
void SchedulerActor::publish_empty() {
  SchedulerStats stats = scheduler_.stats();
  stats.running = stats.waiting = 0;
  stats.prefixes.pages = 0;
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

void SchedulerActor::take_endings() {
  state_->ending->take_all([this](const std::shared_ptr<ActiveRequest>& request) {
    const auto found = groups_.find(request->id());
    if (found != groups_.end()) end(*found->second, request->end_cause());
  });
}

void SchedulerActor::end(RequestGroup& group, EndCause cause) {
  scheduler_.end(group, end_of(cause), cause == EndCause::kStop ? Error{} : request_ending(cause));
}

// Most requests end before their deadline; ended ones are swept out when they are the majority.
void SchedulerActor::add_deadline(Deadline deadline) {
  constexpr std::size_t kWorthSweeping = 64;
  if (deadlines_.size() > 2 * groups_.size() + kWorthSweeping) {
    std::erase_if(deadlines_, [](const Deadline& one) {
      const auto request = one.request.lock();
      return !request || request->finished();
    });
    std::make_heap(deadlines_.begin(), deadlines_.end());
  }
  deadlines_.push_back(std::move(deadline));
  std::push_heap(deadlines_.begin(), deadlines_.end());
}

void SchedulerActor::expire(TimePoint now) {
  while (!deadlines_.empty() && deadlines_.front().when <= now) {
    const auto request = deadlines_.front().request.lock();
    std::pop_heap(deadlines_.begin(), deadlines_.end());
    deadlines_.pop_back();
    if (!request || request->finished()) continue;
    const auto found = groups_.find(request->id());
    if (found != groups_.end()) end(*found->second, EndCause::kDeadline);
  }
}

// Changes the plan that waits for the executor: what arrived or ended meanwhile goes into it.
void SchedulerActor::change_queued_plan(TimePoint now) {
  if (newest_ == nullptr || !scheduler_.changed()) return;
  PipelineTick& tick = *newest_;
  if (!tick.take_back()) return;
  scheduler_.amend(now, tick);
  tick.needs_from = scheduler_.needs_from();
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

/// For a plan that the executor no longer takes.
void SchedulerActor::refuse(PipelineTick& tick, PushResult result) {
  tick.set_free();
  scheduler_.fail(tick, refusal_of(result, context_.system_ready()));
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
  tick.needs_from = scheduler_.needs_from();
  tick.number = tick.plan.tick;
  tick.due_at_once = under_way_.size() + 1 == state_->most_under_way();
  tick.returned = false;
  tick.set_holder(PipelineTick::Holder::kQueued);
  const PushResult result = executor_.try_send(StepMsg{&tick, tick.number});
  if (!taken(result)) return refuse(tick, result);
  under_way_.push_back(&tick);
  newest_ = &tick;
}

void SchedulerActor::send_ends() {
  for (EndMsg& end : ends_) {
    const PushResult result = detokenizer_.try_send(std::move(end));
    if (taken(result)) continue;
    // The detokenizer no longer makes text of it. Why the request ended says more than that, where
    // it is known.
    const bool known = static_cast<bool>(end.error.code);
    std::move(end.ticket)
        .fail(known ? std::move(end.error) : refusal_of(result, context_.system_ready()));
  }
  ends_.clear();
}

void SchedulerActor::arm_timer() {
  const auto window = scheduler_.wake_at();
  TimePoint next = window.value_or(TimePoint::max());
  if (!deadlines_.empty()) next = std::min(next, deadlines_.front().when);
  if (next == TimePoint::max() || next == armed_for_) return;
  armed_for_ = next;
  timer_.arm_at(next);
}

void SchedulerActor::on_begin(Group& group) {
  TimePoint& started = static_cast<RequestGroup&>(group).ticket->times().started;
  if (started == TimePoint{}) started = context_.now();
}

void SchedulerActor::on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                              std::span<const TokenLogprob> /*top*/, SequenceEnd end) {
  auto& request = static_cast<RequestGroup&>(group);
  completing_->events.push_back({request.text.get(), sequence, result.token, result.logprob,
                                 result.first_top, result.top_count, end});
}

void SchedulerActor::on_end(Group& group, GroupEnd how, const Error& error) {
  auto& request = static_cast<RequestGroup&>(group);
  groups_.erase(request.ticket->id());
  add_end(request, how, error);
}

/// There is a place for it (make_place_for_end): until this message the detokenizer counts on the
/// text, which must not be lost for want of memory.
void SchedulerActor::add_end(RequestGroup& group, GroupEnd how, const Error& error) {
  EndMsg& end = ends_.emplace_back(EndMsg{std::move(group.ticket),
                                          std::move(group.text),
                                          how,
                                          request_failure(error),
                                          {},
                                          std::max(group.cached, 0)});
  if (how == GroupEnd::kFailed && !error.code) end.error = nothing_chosen(group.spec);
  try {
    end.outputs = outputs_of(group);
  } catch (const std::bad_alloc&) {
    end.how = GroupEnd::kFailed;
    end.error = {EngineErrc::kInternal, {}};
  }
}

void SchedulerActor::make_place_for_end() {
  const std::size_t most = groups_.size() + 1;  // and the one that arrives
  if (ends_.capacity() < most) ends_.reserve(2 * most);
}

void SchedulerActor::undelivered(EnqueueMsg&& message, const Error& why) {
  if (message.group) std::move(message.group->ticket).fail(why);
}

void SchedulerActor::undelivered(EndingMsg&& /*message*/, const Error& /*why*/) {}

void SchedulerActor::undelivered(StepDoneMsg&& message, const Error& /*why*/) {
  if (message.tick == nullptr) return;
  message.tick->set_free();
}

void SchedulerActor::undelivered(TickFreeMsg&& message, const Error& /*why*/) {
  if (message.tick != nullptr) message.tick->set_free();
}

void SchedulerActor::exiting(const Error& why) {
  // The requests' last tokens may be lost with the message in hand.
  for (EndMsg& end : ends_) {
    end.how = GroupEnd::kFailed;
    end.error = request_failure(why);
  }
  // Not through the scheduler, whose state may be half-changed.
  for (const auto& [id, group] : groups_) add_end(*group, GroupEnd::kFailed, why);
  groups_.clear();
  send_ends();
  publish_empty();
}

}  // namespace weft
