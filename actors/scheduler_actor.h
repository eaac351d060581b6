#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/actors/messages.h"
#include "weft/actors/pipeline_observer.h"
#include "weft/actors/pipeline_stats.h"
#include "weft/actors/request/scheduled_requests.h"
#include "weft/actors/training/training_slot.h"
#include "weft/core/actor/actor.h"
#include "weft/core/actor/actor_ref.h"
#include "weft/schedule/scheduler.h"

namespace weft {

/// The state shared by successive instances of a scheduler: a new one replaces a failed one.
struct SchedulerState {
  explicit SchedulerState(const SchedulerOptions& how) : options(how), ticks(how.limits) {}

  const SchedulerOptions options;
  TickPool ticks;
  std::shared_ptr<EndingRequests> ending;
  std::shared_ptr<PipelineStats> stats;
  std::size_t replica = 0;
  std::shared_ptr<TrainingSlot> training;  ///< null: its device does not train
  // Changed only by the running instance:
  std::uint64_t generations = 0;                   ///< instances so far
  std::uint64_t last_number = 0;                   ///< the greatest number of any tick so far
  std::shared_ptr<PipelineObserver> observer;      ///< may be null
  std::function<void(const std::string&)> notice;  ///< PipelineOptions::notice; may be empty
  bool told_of_guesses = false;                    ///< tell_of_guesses() has reported

  /// The most ticks that are planned and not back: a running one in each stage, and a waiting one.
  [[nodiscard]] std::size_t most_under_way() const noexcept {
    return static_cast<std::size_t>(options.limits.stages) + 1;
  }
};

/// Owns every sequence's state and keeps the device busy: each stage runs a plan, and one waits.
class SchedulerActor {
 public:
  using Accepts = SchedulerProtocol;

  SchedulerActor(ActorContext& context, std::shared_ptr<SchedulerState> state,
                 const ActorRef<ExecutorProtocol>& executor,
                 const ActorRef<DetokenizerProtocol>& detokenizer);

  void on(EnqueueMsg&& message);
  void on(EndingMsg&& message);
  void on(TrainingMsg&& message);
  void on(StepDoneMsg&& message);
  void on(TickFreeMsg&& message);
  void undelivered(EnqueueMsg&& message, const Error& why);
  void undelivered(EndingMsg&& message, const Error& why);
  void undelivered(TrainingMsg&& message, const Error& why);
  void undelivered(StepDoneMsg&& message, const Error& why);
  void undelivered(TickFreeMsg&& message, const Error& why);
  void exiting(const Error& why);

 private:
  void tell_of_guesses(const GroupSpec& spec);
  void look_at_training(TimePoint now);
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
  const std::uint64_t numbers_before_;  // the last tick's number of its predecessors
  ScheduledRequests requests_;
  Scheduler scheduler_;
  Sender<ExecutorProtocol> executor_;
  Sender<DetokenizerProtocol> detokenizer_;
  ActorTimer timer_;
  std::vector<PipelineTick*> under_way_;  // ticks at the executors, in the order of their plans
  PipelineTick* newest_ = nullptr;        // the tick planned last, while it is at the executor
  std::uint64_t rows_published_ = UINT64_MAX;  // row_changes() when rows were published; none yet
  TimePoint armed_for_{};
};

}  // namespace weft
