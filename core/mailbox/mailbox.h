#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/mailbox/asymmetric_fence.h"
#include "weft/core/mailbox/cache_line.h"
#include "weft/core/mailbox/concurrent_queue.h"
#include "weft/core/mailbox/mailbox_lanes.h"
#include "weft/core/mailbox/mailbox_word.h"
#include "weft/core/mailbox/message.h"
#include "weft/core/mailbox/waker.h"

namespace weft {

struct MailboxTraits : moodycamel::ConcurrentQueueDefaultTraits {
  /// A heavy fence costs some microseconds; spread over this many messages that is some nanoseconds
  /// each.
  static constexpr std::size_t kHeatAfter = 1024;
};

/// A bounded, lock-free queue of messages with many producers and one consumer, on moodycamel's
/// concurrentqueue.
///
/// - Order: messages pushed through one Producer are taken in the order of their pushes, whichever
///   threads made them. Messages pushed without a Producer keep their order per thread. Between
///   producers there is no order.
/// - Bound: at most `capacity` messages wait, those of a push in progress included. Memory is
///   bounded by capacity and producers, and reused. To keep the processors' caches apart, places
///   are given back and set aside in lots (kReleaseShare, kCreditShare), so `kFull` can come that
///   much early.
/// - Closing: every message that a push reported as taken is either taken by the consumer or handed
///   back by close().
///
/// How it works: each push takes its place in one atomic word, which also says whether the consumer
/// sleeps. On a busy mailbox this atomic read-modify-write waits until the cache line comes back
/// from the consumer. So a consumer that stays awake for Traits::kHeatAfter messages makes the
/// mailbox *hot*. In a hot mailbox a lane reserves several places at once and pushes into them with
/// plain stores. Before the consumer sleeps or closes, it makes the mailbox cold. It clears the
/// word's hot bit, and a heavy fence makes sure that each lane either has seen the cleared bit or
/// is seen to be busy. When no lane is busy and all unused places are collected, the word is exact.
///
/// Thread-safe: try_push, signal, closed, size. The others are for the consumer, one thread at a
/// time.
template <Message Msg, class Traits = MailboxTraits>
class Mailbox {
  using Queue = moodycamel::ConcurrentQueue<Envelope<Msg>, Traits>;
  enum class Heat : unsigned char { kCold, kHot, kCooling };

  /// Parts of the capacity: an eighth is released late, a 64th is reserved by each lane.
  static constexpr std::size_t kReleaseShare = 8;
  static constexpr std::size_t kCreditShare = 64;

 public:
  /// A sender's own lane: keeps its messages in order even when it moves between threads. One
  /// thread at a time uses it. Costs about one block of messages, so it is for actors, not for
  /// connections. Must not outlive the mailbox.
  class Producer {
   public:
    explicit Producer(Mailbox& mailbox) : token_(mailbox.queue_), lane_(&mailbox.lanes_.take()) {}
    Producer(Producer&& other) noexcept
        : token_(std::move(other.token_)), lane_(std::exchange(other.lane_, nullptr)) {}
    Producer& operator=(Producer&& other) noexcept {
      token_.swap(other.token_);
      std::swap(lane_, other.lane_);
      return *this;
    }
    ~Producer() {
      if (lane_ != nullptr) MailboxLanes::give_back(*lane_);
    }

   private:
    friend class Mailbox;
    moodycamel::ProducerToken token_;
    MailboxLane* lane_;
  };

  /// Takes its memory for `capacity` messages at once. `waker` wakes the consumer and must outlive
  /// the mailbox.
  Mailbox(std::size_t capacity, Waker& waker)
      : queue_(capacity), waker_(waker), word_(capacity), consumer_(queue_) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Moves `message` in, or leaves it as it was (full, closed, or no memory, which counts as full).
  /// `now` is kept in the envelope.
  template <class T>
    requires std::is_nothrow_constructible_v<Msg, T&&> && (!std::is_lvalue_reference_v<T>)
  PushResult try_push(T&& message, TimePoint now, ActorId from = {}) noexcept {
    const PushResult result = word_.admit().result;
    return finish_push(result, std::forward<T>(message), now, from, [this](auto&& envelope) {
      return queue_.enqueue(std::forward<decltype(envelope)>(envelope));
    });
  }

  /// Pushes through a lane.
  template <class T>
    requires std::is_nothrow_constructible_v<Msg, T&&> && (!std::is_lvalue_reference_v<T>)
  PushResult try_push(Producer& producer, T&& message, TimePoint now, ActorId from = {}) noexcept {
    MailboxLane& lane = *producer.lane_;
    lane.busy.store(true, std::memory_order_relaxed);
    light_fence();  // pairs with the heavy fence in settle()
    const PushResult result = finish_push(
        admit(lane), std::forward<T>(message), now, from, [this, &producer](auto&& envelope) {
          return queue_.enqueue(producer.token_, std::forward<decltype(envelope)>(envelope));
        });
    lane.busy.store(false, std::memory_order_release);
    return result;
  }

  /// Appends up to `most` messages to `out`, which must have room for them (it does not grow).
  /// Returns how many. It can be 0 while has_work(), when a push is half-way.
  std::size_t take(std::vector<Envelope<Msg>>& out, std::size_t most) {
    most = std::min(most, out.capacity() - out.size());
    const std::size_t count = queue_.try_dequeue_bulk(consumer_, std::back_inserter(out), most);
    unreleased_ += count;
    if (unreleased_ > 0 && unreleased_ >= word_.capacity() / kReleaseShare) release();
    awake_for_ += count;
    if (awake_for_ >= Traits::kHeatAfter && heat_ == Heat::kCold) heat_up();
    return count;
  }

  /// About how many messages wait to be taken; exact except for pushes under way.
  [[nodiscard]] std::size_t waiting() const noexcept {
    return heat_ == Heat::kCold ? word_.count() - unreleased_ : queue_.size_approx();
  }
  /// Whether a message or a signal waits.
  [[nodiscard]] bool has_work() const noexcept { return waiting() != 0 || word_.signalled(); }

  /// Falls asleep: the next push returns `kWoke`. Returns false when there is something to do
  /// instead, or a push is under way; then try again.
  [[nodiscard]] bool try_sleep() noexcept {
    if (!settle() || !word_.try_sleep(unreleased_)) return false;
    unreleased_ = 0;
    return true;
  }
  /// Falls asleep even when messages wait: no thread could be found to run the consumer, and the
  /// next push tries again.
  void sleep_anyway() noexcept {
    settle_now();
    word_.sleep_anyway();
  }

  /// Wakes the consumer without a message; earlier writes are visible after take_signal().
  /// Thread-safe.
  void signal() noexcept {
    if (word_.signal()) waker_.wake();
  }
  [[nodiscard]] bool take_signal() noexcept { return word_.take_signal(); }

  /// Closes, and gives every waiting message to `answer`, also one whose push is in progress.
  /// Returns their number. Pushes may race with it; a second call finds nothing.
  template <std::invocable<Envelope<Msg>&&> Answer>
  std::size_t close(Answer&& answer) {
    static_assert(std::is_nothrow_invocable_v<Answer, Envelope<Msg>&&>,
                  "an answer that throws would lose the messages behind it");
    word_.close();
    settle_now();
    release();
    std::optional<Envelope<Msg>> one;  // no vector: there may be no memory
    std::size_t answered = 0;
    while (word_.count() > 0) {
      if (queue_.try_dequeue_bulk(IntoOptional{&one}, 1) == 0) {
        std::this_thread::yield();  // a push is between its admission and its enqueue
        continue;
      }
      word_.release(1);
      answer(std::move(*one));
      ++answered;
    }
    return answered;
  }

  /// Returns the number of places that are taken or set aside.
  [[nodiscard]] std::size_t size() const noexcept { return word_.count(); }
  [[nodiscard]] bool closed() const noexcept { return word_.closed(); }

 private:
  /// An output iterator for one envelope, as the queue wants one.
  struct IntoOptional {
    std::optional<Envelope<Msg>>* slot;
    IntoOptional& operator*() noexcept { return *this; }
    IntoOptional& operator++() noexcept { return *this; }
    IntoOptional operator++(int) noexcept { return *this; }
    IntoOptional& operator=(Envelope<Msg>&& envelope) noexcept {
      slot->emplace(std::move(envelope));
      return *this;
    }
  };

  PushResult admit(MailboxLane& lane) noexcept {
    if (word_.hot_and_open() && lane.credits > 0) [[likely]] {
      --lane.credits;
      return PushResult::kOk;
    }
    const auto admission = word_.admit(word_.capacity() / kCreditShare);
    if (admission.set_aside > 0) lane.credits += admission.set_aside;
    return admission.result;
  }

  template <class T, class Enqueue>
  PushResult finish_push(PushResult result, T&& message, TimePoint now, ActorId from,
                         Enqueue enqueue) noexcept {
    if (!taken(result)) return result;
    Envelope<Msg> envelope{.message = Msg(std::forward<T>(message)), .enqueued = now, .from = from};
    const bool queued = enqueue(std::move(envelope));
    if (!queued) [[unlikely]] {  // no memory: the queue took nothing
      give_back(message, envelope.message);
      word_.release(1);
    }
    // The wake is due also when nothing was queued: other pushes may have come in since, which
    // count on this push to wake the consumer.
    if (result == PushResult::kWoke) waker_.wake();
    return queued ? result : PushResult::kFull;
  }

  template <class T>
  static void give_back(T& message, Msg& held) noexcept {
    std::destroy_at(&message);
    if constexpr (std::same_as<T, Msg>) {
      std::construct_at(&message, std::move(held));
    } else {
      std::construct_at(&message, std::move(*std::get_if<T>(&held)));
    }
  }

  void release() noexcept {
    if (unreleased_ > 0) word_.release(std::exchange(unreleased_, 0));
  }

  void heat_up() noexcept {
    awake_for_ = 0;
    if (!has_heavy_fence()) return;
    heat_ = Heat::kHot;
    word_.heat();
  }

  /// Turns cold. Returns false while a push is under way that may use a place set aside.
  bool settle() noexcept {
    awake_for_ = 0;
    if (heat_ == Heat::kCold) return true;
    if (heat_ == Heat::kHot) {
      word_.cool();
      heavy_fence();  // pairs with the light fence in try_push()
      heat_ = Heat::kCooling;
    }
    bool quiet = false;
    const std::size_t credits = lanes_.collect_credits(quiet);
    if (credits > 0) word_.release(credits);
    if (quiet) heat_ = Heat::kCold;
    return quiet;
  }

  void settle_now() noexcept {
    while (!settle()) std::this_thread::yield();
  }

  Queue queue_;
  MailboxLanes lanes_;
  Waker& waker_;
  alignas(kCacheLineBytes) MailboxWord word_;

  // The members below belong to the consumer.
  alignas(kCacheLineBytes) moodycamel::ConsumerToken consumer_;
  std::size_t unreleased_ = 0;  // taken, and the places not given back yet
  std::size_t awake_for_ = 0;   // taken since the last sleep
  Heat heat_ = Heat::kCold;
};

}  // namespace weft
