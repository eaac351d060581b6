#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/actors/messages.h"
#include "weft/actors/pipeline_observer.h"
#include "weft/actors/pipeline_stats.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/schedule/scheduler.h"

namespace weft {

/// What the instances of a scheduler share: a new one takes over where another has failed.
struct SchedulerState {
  explicit SchedulerState(const SchedulerOptions& how) : options(how), ticks(how.limits) {}

  const SchedulerOptions options;
  TickPool ticks;
  std::shared_ptr<EndingRequests> ending;
  std::shared_ptr<PipelineStats> stats;
  std::size_t replica = 0;
  std::uint64_t generations = 0;  ///< instances so far; changed by the actor's turn alone
  std::shared_ptr<PipelineObserver> observer;  ///< may be null

  /// Ticks that are planned and not back, at most: one that runs in each stage, and one that waits.
  [[nodiscard]] std::size_t most_under_way() const noexcept {
    return static_cast<std::size_t>(options.limits.stages) + 1;
  }
};

/// Owns every sequence's state and keeps the device busy: a plan runs in each stage, one waits.
class SchedulerActor final : private SchedulerListener {
 public:
  using Accepts = SchedulerProtocol;

  SchedulerActor(ActorContext& context, std::shared_ptr<SchedulerState> state,
                 const ActorRef<ExecutorProtocol>& executor,
                 const ActorRef<DetokenizerProtocol>& detokenizer);

  void on(EnqueueMsg&& message);
  void on(EndingMsg&& message);
  void on(StepDoneMsg&& message);
  void on(TickFreeMsg&& message);
  void undelivered(EnqueueMsg&& message, const Error& why);
  void undelivered(EndingMsg&& message, const Error& why);
  void undelivered(StepDoneMsg&& message, const Error& why);
  void undelivered(TickFreeMsg&& message, const Error& why);
  void exiting(const Error& why);

 private:
  struct Deadline {
    TimePoint when;
    std::weak_ptr<ActiveRequest> request;
    // Ordered for std::push_heap: the earliest is the greatest.
    friend bool operator<(const Deadline& a, const Deadline& b) { return b.when < a.when; }
  };

  void on_begin(Group& group) override;
  void on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                std::span<const TokenLogprob> top, SequenceEnd end) override;
  void on_end(Group& group, GroupEnd how, const Error& error) override;

  void make_place_for_end();
  void add_end(RequestGroup& group, GroupEnd how, const Error& error);
  void end_sequences(std::span<const StopHit> hits);
  void take_endings();
  void end(RequestGroup& group, EndCause cause);
  void add_deadline(Deadline deadline);
  void expire(TimePoint now);
  void change_queued_plan(TimePoint now);
  void send_ends();
  void take_tick(PipelineTick& tick);
  void make_plans(TimePoint now);
  void queue(PipelineTick& tick);
  void refuse(PipelineTick& tick, PushResult result);
  void arm_timer();
  void publish();
  void publish_rows();
  void publish_empty();
  void begin_message() const;
  void after_message();

  ActorContext& context_;
  const std::shared_ptr<SchedulerState> state_;
  const std::uint64_t generation_;
  Scheduler scheduler_;
  Sender<ExecutorProtocol> executor_;
  Sender<DetokenizerProtocol> detokenizer_;
  ActorTimer timer_;
  std::uint64_t arrivals_ = 0;
  std::unordered_map<RequestId, RequestGroup*> groups_;
  std::vector<Deadline> deadlines_;       // a heap, the next one first
  std::vector<EndMsg> ends_;              // for the detokenizer, after the tokens
  std::vector<PipelineTick*> under_way_;  // ticks at the executors, in the order of their plans
  PipelineTick* newest_ = nullptr;        // the tick planned last, while it is at the executor
  PipelineTick* completing_ = nullptr;
  std::uint64_t rows_published_ = UINT64_MAX;  // row_changes() when rows were published; none yet
  TimePoint armed_for_{};
};

}  // namespace weft
