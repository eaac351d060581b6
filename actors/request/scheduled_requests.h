#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/core/error/error.h"
#include "weft/core/time/clock.h"
#include "weft/schedule/recent_outputs.h"
#include "weft/schedule/scheduler.h"

namespace weft {

/// Returns the request's deadline; none if it is beyond the clock's range. Only for callers that
/// may use request().
[[nodiscard]] std::optional<TimePoint> deadline_of(ActiveRequest& request);

/// The requests of a Scheduler, from their arrival to their ends. It passes them to the scheduler,
/// ends requests that were asked to end or whose deadline has passed, and reports each end. The
/// scheduler knows groups and tokens; this class knows their requests. SchedulerActor and Stepper
/// have one each. Owner only.
///
/// It is its scheduler's listener and must outlive it.
class ScheduledRequests final : public SchedulerListener {
 public:
  /// `scheduler` may be constructed later, since it is not used before take(). `now` is called when
  /// a group gets its rows.
  /// `options` are the scheduler's.
  ScheduledRequests(Scheduler& scheduler, const SchedulerOptions& options,
                    std::shared_ptr<EndingRequests> ending, std::function<TimePoint()> now);

  /// Takes an arriving request. If it never fits, or was asked to end, it is in ends() at once. If
  /// this throws, the request is still in `group`, or has ended.
  void take(std::unique_ptr<RequestGroup>&& group, TimePoint now);

  /// Ends the requests that were asked to end, and those whose deadlines have passed.
  void end_due(TimePoint now);
  /// Ends sequences whose texts hit stop strings; ignores hits of requests that have ended.
  void end_sequences(std::span<const StopHit> hits);
  /// Takes the results of a tick and writes its events.
  void complete(PipelineTick& tick);
  /// Ends all requests with an error, without the scheduler, whose state may be half-changed and
  /// which must not be used any more.
  void fail_all(const Error& why);

  /// Ended requests that were not taken from here yet, in the order of their ends. Finish them
  /// after the events of all earlier ticks.
  [[nodiscard]] std::vector<EndMsg>& ends() noexcept { return ends_; }
  /// Returns when the next deadline passes; none without.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const noexcept;

  void on_begin(Group& group) override;
  void on_token(Group& group, std::int32_t sequence, const SampleResult& result,
                std::span<const TokenLogprob> top, SequenceEnd end) override;
  void on_end(Group& group, GroupEnd how, const Error& error) override;

 private:
  struct Deadline {
    TimePoint when;
    std::weak_ptr<ActiveRequest> request;
    // Ordered for std::push_heap: the earliest is the greatest.
    friend bool operator<(const Deadline& a, const Deadline& b) { return b.when < a.when; }
  };

  void make_place_for_end();
  void keep_outputs(const RequestGroup& group) noexcept;
  void refuse(std::unique_ptr<RequestGroup> group, EndCause cause, std::string refusal);
  void add_end(RequestGroup& group, GroupEnd how, const Error& error);
  void end(RequestGroup& group, EndCause cause);
  void add_deadline(Deadline deadline);
  void expire(TimePoint now);

  Scheduler& scheduler_;
  const std::shared_ptr<EndingRequests> ending_;
  const std::function<TimePoint()> now_;
  RecentOutputs recent_;
  std::uint64_t arrivals_ = 0;
  std::unordered_map<RequestId, RequestGroup*> groups_;
  std::vector<Deadline> deadlines_;  // a heap, the earliest first
  std::vector<EndMsg> ends_;
  PipelineTick* completing_ = nullptr;
};

}  // namespace weft
