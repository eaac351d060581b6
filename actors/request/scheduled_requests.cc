#include "weft/actors/request/scheduled_requests.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/actors/request/request_text.h"
#include "weft/sampling/best_of.h"

namespace weft {
namespace {

// Returns the outputs in the order in which the caller gets them.
std::vector<OutputEnd> outputs_of(RequestGroup& group) {
  const SamplingParams& sampling = *group.spec.sampling;
  std::vector<OutputEnd> outputs;
  if (!group.spec.generates()) return outputs;
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

GroupEnd end_of(EndCause cause) {
  if (cause == EndCause::kStop) return GroupEnd::kStopped;
  return cause == EndCause::kCancel || cause == EndCause::kSlowReader ? GroupEnd::kCancelled
                                                                      : GroupEnd::kFailed;
}

}  // namespace

std::optional<TimePoint> deadline_of(ActiveRequest& request) {
  using std::chrono::milliseconds;
  const TimePoint arrived = request.times().arrived;
  const milliseconds timeout = request.request().timeout;
  const auto most = std::chrono::floor<milliseconds>(TimePoint::max() - arrived);
  if (timeout <= milliseconds{0} || timeout > most) return std::nullopt;
  return arrived + timeout;
}

ScheduledRequests::ScheduledRequests(Scheduler& scheduler, const SchedulerOptions& options,
                                     std::shared_ptr<EndingRequests> ending,
                                     std::function<TimePoint()> now)
    : scheduler_(scheduler),
      ending_(std::move(ending)),
      now_(std::move(now)),
      recent_(options.recent_tokens, options.limits.vocabulary) {}

void ScheduledRequests::take(std::unique_ptr<RequestGroup>&& group, TimePoint now) {
  make_place_for_end();
  RequestGroup& one = *group;
  ActiveRequest& request = *one.ticket;
  request.times().queued = now;
  std::string refusal = scheduler_.never_fits(one.spec);
  const EndCause cause = request.end_cause();
  if (!refusal.empty() || cause != EndCause::kNone) {
    return refuse(std::move(group), cause, std::move(refusal));
  }
  one.order = ++arrivals_;
  if (const auto when = deadline_of(request)) add_deadline({*when, one.ticket.share()});
  request.admit(prompt_tokens_of(one.spec));
  scheduler_.submit(std::move(group), now);
  groups_.emplace(request.id(), &one);  // last: fail_all() relies on what it finds here
}

/// Ends a request that never fits (`refusal` says why), or that was asked to end before it came.
void ScheduledRequests::refuse(std::unique_ptr<RequestGroup> group, EndCause cause,
                               std::string refusal) {
  EndMsg end{std::move(group->ticket), std::move(group->text), GroupEnd::kFailed, {}, {}, 0, {}};
  if (!refusal.empty()) {
    end.error = {EngineErrc::kNeverFits, std::move(refusal)};
  } else {
    end.how = end_of(cause);
    end.error = cause == EndCause::kStop ? Error{} : request_ending(cause);
    const std::int32_t outputs = group->spec.generates() ? group->spec.sampling->n : 0;
    end.outputs.resize(static_cast<std::size_t>(outputs));
  }
  ends_.push_back(std::move(end));
}

void ScheduledRequests::complete(PipelineTick& tick) {
  tick.events.clear();
  completing_ = &tick;
  scheduler_.complete(tick);
  completing_ = nullptr;
}

void ScheduledRequests::fail_all(const Error& why) {
  // The last tokens of requests that have ended may be lost as well.
  for (EndMsg& end : ends_) {
    end.how = GroupEnd::kFailed;
    end.error = request_failure(why);
  }
  for (const auto& [id, group] : groups_) add_end(*group, GroupEnd::kFailed, why);
  groups_.clear();
}

std::optional<TimePoint> ScheduledRequests::next_deadline() const noexcept {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.front().when;
}

void ScheduledRequests::on_begin(Group& group) {
  TimePoint& started = static_cast<RequestGroup&>(group).ticket->times().started;
  if (started == TimePoint{}) started = now_();
  if (group.spec.most_guesses > 0) group.recent = recent_.of(group.prefix_scope);
}

void ScheduledRequests::on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                                 std::span<const TokenLogprob> /*top*/, SequenceEnd end) {
  auto& request = static_cast<RequestGroup&>(group);
  completing_->events.push_back({request.text.get(), sequence, result.token, result.logprob,
                                 result.first_top, result.top_count, end});
}

void ScheduledRequests::on_end(Group& group, GroupEnd how, const Error& error) {
  auto& request = static_cast<RequestGroup&>(group);
  groups_.erase(request.ticket->id());
  if (how == GroupEnd::kDone || how == GroupEnd::kStopped) keep_outputs(request);
  add_end(request, how, error);
}

/// Keeps outputs for the guesses of later requests. If memory runs out, the output is not kept.
void ScheduledRequests::keep_outputs(const RequestGroup& group) noexcept {
  if (group.spec.most_guesses == 0 || !group.spec.generates() || group.spec.beams()) return;
  try {
    for (const Sequence& one : group.sequences) recent_.add(group.prefix_scope, one.outputs);
  } catch (const std::bad_alloc&) {
    return;  // only guesses are lost
  }
}

/// Its place is reserved (make_place_for_end), since the message must not be lost for lack of
/// memory: the detokenizer uses the request until it comes.
void ScheduledRequests::add_end(RequestGroup& group, GroupEnd how, const Error& error) {
  EndMsg& end = ends_.emplace_back(EndMsg{std::move(group.ticket),
                                          std::move(group.text),
                                          how,
                                          request_failure(error),
                                          {},
                                          std::max(group.cached, 0),
                                          group.guesses});
  const auto& sampling = group.spec.sampling;
  if (sampling != nullptr && sampling->constraint != nullptr) sampling->constraint->end();
  try {
    if (how == GroupEnd::kFailed && !error.code) {
      end.error = nothing_chosen(group.spec, group.failure.get());
    }
    end.outputs = outputs_of(group);
  } catch (const std::bad_alloc&) {
    end.how = GroupEnd::kFailed;
    end.error = {EngineErrc::kInternal, {}};
  }
}

void ScheduledRequests::make_place_for_end() {
  const std::size_t most = groups_.size() + 1;  // 1 for the arriving request
  if (ends_.capacity() < most) ends_.reserve(2 * most);
}

void ScheduledRequests::end_due(TimePoint now) {
  ending_->take_all([this](const std::shared_ptr<ActiveRequest>& request) {
    const auto found = groups_.find(request->id());
    if (found != groups_.end()) end(*found->second, request->end_cause());
  });
  expire(now);
}

void ScheduledRequests::end(RequestGroup& group, EndCause cause) {
  scheduler_.end(group, end_of(cause), cause == EndCause::kStop ? Error{} : request_ending(cause));
}

// Most requests end before their deadline; ended ones are swept out when they are the majority.
void ScheduledRequests::add_deadline(Deadline deadline) {
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

void ScheduledRequests::expire(TimePoint now) {
  while (!deadlines_.empty() && deadlines_.front().when <= now) {
    const auto request = deadlines_.front().request.lock();
    std::pop_heap(deadlines_.begin(), deadlines_.end());
    deadlines_.pop_back();
    if (!request || request->finished()) continue;
    const auto found = groups_.find(request->id());
    if (found != groups_.end()) end(*found->second, EndCause::kDeadline);
  }
}

void ScheduledRequests::end_sequences(std::span<const StopHit> hits) {
  for (const StopHit& hit : hits) {
    const auto found = groups_.find(hit.request);
    if (found != groups_.end()) scheduler_.end_sequence(*found->second, hit.sequence);
  }
}

}  // namespace weft
