#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/core/concurrent_queue.h"
#include "weft/core/mailbox_word.h"
#include "weft/core/message.h"
#include "weft/core/waker.h"

namespace weft {

/// A bounded, lock-free queue of messages with many producers and one consumer, on moodycamel's
/// concurrentqueue.
///
/// - Order: messages pushed through one Producer are taken in the order of their pushes, whichever
///   threads made them. Messages pushed without a Producer keep their order per thread. Between
///   producers there is no order.
/// - Bound: at most `capacity` messages wait, those of a push in progress included; what the
///   consumer has taken no longer counts. Memory is bounded by capacity and producers, and reused.
/// - Closing: every message that a push reported as taken is either taken by the consumer or handed
///   back by close().
///
/// Thread-safe: try_push, signal, close, size. Consumer only (one thread at a time): take,
/// try_sleep, sleep_anyway, take_signal.
template <Message Msg, class Traits = moodycamel::ConcurrentQueueDefaultTraits>
class Mailbox {
  using Queue = moodycamel::ConcurrentQueue<Envelope<Msg>, Traits>;

 public:
  /// A sender's own lane: keeps its messages in order even when it moves between threads. One
  /// thread at a time uses it. Costs about one block of messages, so it is for actors, not for
  /// connections. Must not outlive the mailbox.
  class Producer {
   public:
    explicit Producer(Mailbox& mailbox) : token_(mailbox.queue_) {}

   private:
    friend class Mailbox;
    moodycamel::ProducerToken token_;
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
    return push(std::move(message), now, from,
                [this](Envelope<Msg>&& envelope) { return queue_.enqueue(std::move(envelope)); });
  }

  /// The same through a lane.
  template <class T>
    requires std::is_nothrow_constructible_v<Msg, T&&> && (!std::is_lvalue_reference_v<T>)
  PushResult try_push(Producer& lane, T&& message, TimePoint now, ActorId from = {}) noexcept {
    return push(std::move(message), now, from, [this, &lane](Envelope<Msg>&& envelope) {
      return queue_.enqueue(lane.token_, std::move(envelope));
    });
  }

  /// Appends up to `most` messages to `out`, which must have room for them (it does not grow).
  /// Returns how many. It can be 0 while size() is not: a push is half-way.
  std::size_t take(std::vector<Envelope<Msg>>& out, std::size_t most) {
    most = std::min(most, out.capacity() - out.size());
    const std::size_t count = queue_.try_dequeue_bulk(consumer_, std::back_inserter(out), most);
    if (count > 0) word_.release(count);
    return count;
  }

  /// Falls asleep: the next push returns `kWoke`. False when there is something to do instead.
  [[nodiscard]] bool try_sleep() noexcept { return word_.try_sleep(); }
  /// Falls asleep with whatever there is: nobody could be found to run the consumer, and the next
  /// push tries again.
  void sleep_anyway() noexcept { word_.sleep_anyway(); }
  /// Any thread: wakes the consumer without a message; what was written before is visible after
  /// take_signal().
  void signal() noexcept {
    if (word_.signal()) waker_.wake();
  }
  [[nodiscard]] bool take_signal() noexcept { return word_.take_signal(); }

  /// Takes no more, and gives every waiting message to `answer`, also one whose push is in
  /// progress. Returns how many. May race with pushes, with take and with itself; each message goes
  /// to one of them.
  template <std::invocable<Envelope<Msg>&&> Answer>
  std::size_t close(Answer&& answer) {
    static_assert(std::is_nothrow_invocable_v<Answer, Envelope<Msg>&&>,
                  "an answer that throws would lose the messages behind it");
    word_.close();
    std::vector<Envelope<Msg>> one;
    one.reserve(1);
    std::size_t answered = 0;
    while (word_.count() > 0) {
      if (queue_.try_dequeue_bulk(std::back_inserter(one), 1) == 0) {
        std::this_thread::yield();  // a push is between its admission and its enqueue
        continue;
      }
      word_.release(1);
      answer(std::move(one.front()));
      one.clear();
      ++answered;
    }
    return answered;
  }

  [[nodiscard]] std::size_t size() const noexcept { return word_.count(); }
  [[nodiscard]] const MailboxWord& word() const noexcept { return word_; }

 private:
  template <class T, class Enqueue>
  PushResult push(T&& message, TimePoint now, ActorId from, Enqueue enqueue) noexcept {
    const PushResult result = word_.admit();
    if (!taken(result)) return result;
    Envelope<Msg> envelope{.message = Msg(std::move(message)), .enqueued = now, .from = from};
    const bool queued = enqueue(std::move(envelope));
    if (!queued)
        [[unlikely]] {  // no memory: the queue took nothing, and the caller gets its message back
      give_back(message, envelope.message);
      word_.release(1);
    }
    // Also when nothing was queued: others may have come in since, who count on this push to wake
    // the consumer.
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

  Queue queue_;
  Waker& waker_;
  alignas(64) MailboxWord word_;
  moodycamel::ConsumerToken consumer_;
};

}  // namespace weft
