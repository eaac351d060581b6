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

/// The cause of ending a request early.
enum class EndCause : std::uint8_t {
  kNone,
  kStop,        ///< keep the output so far, which ends with FinishReason::kStop
  kCancel,      ///< the caller cancelled it
  kDeadline,    ///< its deadline has passed
  kSlowReader,  ///< its reader does not take the output
  kShutdown,    ///< the engine ends
  kFailure,     ///< an actor that held the request's state failed
};

class ActiveRequest;

/// The list of requests that were asked to end, for the scheduler: the only path of cancellation.
/// It is a stack linked through the requests (Treiber, "Systems Programming: Coping with
/// Parallelism", IBM RJ 5118, 1986) that is only emptied as a whole. A request is in it at most
/// once, so it is bounded and allocates nothing. push() is thread-safe, take_all() for one thread.
class EndingRequests {
 public:
  /// `wake` tells the scheduler that the list is not empty. The first push after a take calls it,
  /// on any thread. It must not throw, and may be called after the scheduler's end.
  explicit EndingRequests(std::function<void()> wake) : wake_(std::move(wake)) {}
  EndingRequests(const EndingRequests&) = delete;
  EndingRequests& operator=(const EndingRequests&) = delete;
  ~EndingRequests();

  /// Adds a request, which must not be in it.
  void push(std::shared_ptr<ActiveRequest> request) noexcept;

  /// Takes all requests and calls `each` for them, the oldest first. If `each` throws, the
  /// remaining requests are dropped; their end_cause() still shows the cause.
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

/// A request from its arrival to its one terminal event. Its caller and the scheduler, which may
/// ask it to end, share it with the actors that produce its output. Thread-safe where stated.
/// Always owned by a shared_ptr. It keeps its sink alive, so a sink that may ask it to end keeps a
/// weak_ptr.
class ActiveRequest : public std::enable_shared_from_this<ActiveRequest> {
 public:
  /// `sink` is never null.
  ActiveRequest(RequestId id, Request request, std::shared_ptr<RequestSink> sink,
                TimePoint arrived);
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;
  ~ActiveRequest() = default;

  [[nodiscard]] RequestId id() const noexcept { return id_; }

  /// Sets the list to which ask_to_end() adds it from now on: its scheduler's. Called once, before
  /// that scheduler gets the request; the scheduler then checks end_cause(), which alone shows an
  /// earlier ask_to_end(). The list is not kept alive.
  void set_ending(const std::shared_ptr<EndingRequests>& ending) noexcept;

  /// Sets the list to which ask_to_end() adds this request until set_ending(). The list belongs to
  /// the actor that holds the waiting ticket. This actor then checks end_cause(), as the scheduler
  /// does. A second call has no effect. The list is not kept alive.
  void set_early_ending(const std::shared_ptr<EndingRequests>& ending) noexcept;

  /// For the actor that holds the request's ticket; constant once the scheduler has it. Times that
  /// a Finish leaves zero are taken from times().
  Request& request() noexcept { return request_; }
  RequestTimes& times() noexcept { return times_; }

  /// Asks the request to end. Thread-safe. The first cause counts; it takes effect within one tick.
  /// Returns false if the request was asked before or has finished. It may be asked before it is
  /// submitted, since each holder of its ticket checks end_cause().
  bool ask_to_end(EndCause cause) noexcept;
  /// Why it was asked to end. Thread-safe.
  [[nodiscard]] EndCause end_cause() const noexcept { return cause_.load(); }

  /// Tells the sink that the request is valid and has room. One thread at a time.
  void admit(std::int32_t prompt_tokens) noexcept;
  /// Tells the sink which schema places its outputs are not held to; called before admit().
  void let_pass(std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept;
  /// Gives a delta to the sink; dropped once the request has finished. One thread at a time.
  void deliver(const DeltaView& delta) noexcept;

  /// Whether it has had its terminal event. Thread-safe.
  [[nodiscard]] bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

  /// Is told of the end after the sink, on the actor's thread. Set before the request is submitted.
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

  /// Keeps `what` alive until the sink has received the end. Set before the request is submitted.
  void keep_until_end(std::shared_ptr<void> what) noexcept { kept_ = std::move(what); }

  /// Sets a function that is called once when the request finishes, before the sink, so that a
  /// caller who is told of the end finds the request's room free. It must not throw. Set before the
  /// request is submitted.
  void on_finished(std::function<void(const Finish&)> call) { on_finished_ = std::move(call); }

 private:
  friend class RequestTicket;
  friend class EndingRequests;
  void finish(Finish&& finish) noexcept;

  const RequestId id_;
  Request request_;
  RequestTimes times_;
  const std::shared_ptr<RequestSink> sink_;
  std::weak_ptr<EndingRequests> early_ending_;  // to be read once has_early_ending_ says so
  std::weak_ptr<EndingRequests> ending_;        // to be read once has_ending_ says so
  std::function<void(const Finish&)> on_finished_;
  std::shared_ptr<Owner> owner_;
  std::shared_ptr<void> kept_;
  // All are sequentially consistent: either ask_to_end() finds the list, or a later check of
  // end_cause() finds the cause.
  std::atomic<EndCause> cause_{EndCause::kNone};
  std::atomic<bool> has_early_ending_{false};
  std::atomic<bool> has_ending_{false};
  std::atomic<bool> finished_{false};

  // The next request in EndingRequests.
  ActiveRequest* next_ending_ = nullptr;
  std::shared_ptr<ActiveRequest> self_while_ending_;
};

/// The right and the duty to finish a request. Each request has one ticket, which moves
/// with it from actor to actor. If its actor or message is lost, the ticket's destructor
/// finishes the request with EngineErrc::kInternal. So each request has exactly one
/// terminal event.
class RequestTicket {
 public:
  /// Begins a request; make one for each.
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
  /// Finishes with reason kError, or kCancelled if the code is kCancelled; kOverloaded adds a
  /// retry time. A CoreErrc, such as an actor's undelivered() gets, becomes the corresponding
  /// EngineErrc.
  void fail(Error error) && noexcept;

 private:
  std::shared_ptr<ActiveRequest> request_;
};

}  // namespace weft
