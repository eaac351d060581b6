#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "weft/actors/request/request.h"
#include "weft/core/ids.h"
#include "weft/core/time/clock.h"

namespace weft {

/// Why a request shall end before it is done.
enum class EndCause : std::uint8_t {
  kNone,
  kStop,        ///< keep what was produced: the outputs end with FinishReason::kStop
  kCancel,      ///< the caller cancelled it
  kDeadline,    ///< its time is over
  kSlowReader,  ///< nobody takes what is produced
  kShutdown,    ///< the engine ends
  kFailure,     ///< an actor that held the request's state failed
};

class ActiveRequest;

/// Requests that were asked to end, for the scheduler to take: the one path of cancellation. Each
/// request is in it at most once, so it is bounded and allocates nothing: a stack that is linked
/// through the requests (Treiber, "Systems Programming: Coping with Parallelism", IBM RJ 5118,
/// 1986), and only ever emptied as a whole. push() is thread-safe, take_all() for one thread.
class EndingRequests {
 public:
  /// `wake` tells the scheduler that there is something; called by any thread, by the first push
  /// after a take. It must not throw, and may be called after the scheduler has gone.
  explicit EndingRequests(std::function<void()> wake) : wake_(std::move(wake)) {}
  EndingRequests(const EndingRequests&) = delete;
  EndingRequests& operator=(const EndingRequests&) = delete;
  ~EndingRequests();

  /// Adds a request, which must not be in it.
  void push(std::shared_ptr<ActiveRequest> request) noexcept;

  /// Calls `each` with all of them, the oldest first. When `each` throws, those after it are
  /// dropped; their end_cause() still says that they were asked.
  template <std::invocable<std::shared_ptr<ActiveRequest>> Each>
  void take_all(Each&& each) {
    Chain chain = take_chain();
    while (auto request = chain.next()) each(std::move(request));
  }

 private:
  class Chain {
   public:
    explicit Chain(ActiveRequest* first) noexcept : first_(first) {}
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;
    ~Chain() {
      while (next() != nullptr) {
      }
    }
    std::shared_ptr<ActiveRequest> next() noexcept;

   private:
    ActiveRequest* first_;
  };
  Chain take_chain() noexcept;

  const std::function<void()> wake_;
  std::atomic<ActiveRequest*> newest_{nullptr};
};

/// A request from its arrival to its one terminal event. It is shared by those who may ask it to
/// end (its caller, the scheduler's deadline) and those who produce for it. Thread-safe where
/// stated. Always owned by a shared_ptr. It keeps its sink alive, so a sink that wants to ask it to
/// end keeps a weak_ptr.
class ActiveRequest : public std::enable_shared_from_this<ActiveRequest> {
 public:
  /// `sink` is never null.
  ActiveRequest(RequestId id, Request request, std::shared_ptr<RequestSink> sink,
                TimePoint arrived);
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;
  ~ActiveRequest() = default;

  [[nodiscard]] RequestId id() const noexcept { return id_; }

  /// Says where ask_to_end() puts it from now on: the list of the scheduler that will get it. Once,
  /// before that scheduler gets it, which then looks at end_cause(): before this call only that
  /// tells of ask_to_end(). The list is not kept alive.
  void set_ending(const std::shared_ptr<EndingRequests>& ending) noexcept;

  /// Owned by the actor that holds the request's ticket; constant once it is with the scheduler.
  /// What a Finish leaves zero of its times is taken from times().
  Request& request() noexcept { return request_; }
  RequestTimes& times() noexcept { return times_; }

  /// Asks the request to end. Thread-safe. The first cause counts; it takes effect within one tick.
  /// Returns false when the request was asked before or has finished. It may be asked before it is
  /// submitted; whoever gets its ticket looks at end_cause().
  bool ask_to_end(EndCause cause) noexcept;
  /// Why it was asked to end. Thread-safe.
  [[nodiscard]] EndCause end_cause() const noexcept { return cause_.load(); }

  /// One thread at a time: its arguments are good and there is room for it.
  void admit(std::int32_t prompt_tokens) noexcept;
  /// Tells the sink which schema places its outputs are not held to; called before admit().
  void let_pass(std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept;
  /// One thread at a time: something for the sink; dropped once the request has finished.
  void deliver(const DeltaView& delta) noexcept;

  /// Whether it has had its terminal event. Thread-safe.
  [[nodiscard]] bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

  /// Hears of the end after the sink, on the actor's thread. Set before the request is submitted.
  class Owner {
   public:
    Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    virtual void ended(ActiveRequest& request) noexcept = 0;

   protected:
    ~Owner() = default;
  };
  void set_owner(std::shared_ptr<Owner> owner) noexcept { owner_ = std::move(owner); }

  /// Keeps `what` until the sink has had the end. Set before the request is submitted.
  void keep_until_end(std::shared_ptr<void> what) noexcept { kept_ = std::move(what); }

  /// Sets what is called once when the request finishes, before the sink: a caller that hears of
  /// the end finds the request's room free already. It must not throw. To be set before the request
  /// is submitted.
  void on_finished(std::function<void(const Finish&)> call) { on_finished_ = std::move(call); }

 private:
  friend class RequestTicket;
  friend class EndingRequests;
  void finish(Finish&& finish) noexcept;

  const RequestId id_;
  Request request_;
  RequestTimes times_;
  const std::shared_ptr<RequestSink> sink_;
  std::weak_ptr<EndingRequests> ending_;  // to be read once has_ending_ says so
  std::function<void(const Finish&)> on_finished_;
  std::shared_ptr<Owner> owner_;
  std::shared_ptr<void> kept_;
  // Sequentially consistent, both: who asks finds the list, or who looks afterwards finds the
  // cause.
  std::atomic<EndCause> cause_{EndCause::kNone};
  std::atomic<bool> has_ending_{false};
  std::atomic<bool> finished_{false};

  // The next one while it is among the EndingRequests.
  ActiveRequest* next_ending_ = nullptr;
  std::shared_ptr<ActiveRequest> self_while_ending_;
};

/// The right and the duty to finish a request. There is one for each request, and it moves from
/// actor to actor with it. A ticket that is destroyed, because the actor or the message that held
/// it is lost, finishes its request with EngineErrc::kInternal. So each request has exactly one
/// terminal event.
class RequestTicket {
 public:
  /// To be made once for each request, which begins by it.
  explicit RequestTicket(std::shared_ptr<ActiveRequest> request) noexcept
      : request_(std::move(request)) {}
  RequestTicket(RequestTicket&&) noexcept = default;
  RequestTicket& operator=(RequestTicket&& other) noexcept;
  ~RequestTicket();

  [[nodiscard]] ActiveRequest& operator*() const noexcept { return *request_; }
  [[nodiscard]] ActiveRequest* operator->() const noexcept { return request_.get(); }
  [[nodiscard]] const std::shared_ptr<ActiveRequest>& share() const noexcept { return request_; }

  /// Gives the request its terminal event and uses up the ticket.
  void finish(Finish&& finish) && noexcept;
  /// Finishes with reason kError, or kCancelled where the code is kCancelled; kOverloaded comes
  /// with when to try again. A CoreErrc, such as an actor's undelivered() is given, becomes the
  /// EngineErrc that it means for the request.
  void fail(Error error) && noexcept;

 private:
  std::shared_ptr<ActiveRequest> request_;
};

}  // namespace weft
