#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

/// What became of a push.
enum class PushResult {
  ok,      ///< The message is in; the consumer is awake and will come to it.
  woke,    ///< The message is in, the consumer was asleep and this push has woken it.
  full,    ///< Not taken, the message is untouched: as many wait as may.
  closed,  ///< Not taken, the message is untouched: the consumer takes no more.
};

[[nodiscard]] constexpr bool taken(PushResult result) noexcept {
  return result == PushResult::ok || result == PushResult::woke;
}

/// All that a mailbox's producers and its consumer agree on, in one atomic word: how many messages are admitted and
/// not yet taken, whether the consumer sleeps, whether it was signalled, whether the mailbox is closed. Because it is
/// one word, "nothing is left, so I sleep" and "I am in, wake up" cannot pass each other.
///
/// Lock-free. Invariant: asleep implies no admitted message and no signal, but after sleep_anyway().
class MailboxWord {
 public:
  explicit MailboxWord(std::size_t capacity) noexcept : capacity_(capacity) {}

  /// Producer: reserves a place, before the message is put into the queue. After `woke` the caller wakes the consumer,
  /// once the message is in the queue, or once it has given the place back.
  [[nodiscard]] PushResult admit() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kClosed) != 0) return PushResult::closed;
      if ((word & kCount) >= capacity_) return PushResult::full;
    } while (!word_.compare_exchange_weak(word, (word & ~kAsleep) + 1, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return (word & kAsleep) != 0 ? PushResult::woke : PushResult::ok;
  }

  /// Whoever took `count` messages out of the queue gives their places back.
  void release(std::size_t count) noexcept { word_.fetch_sub(count, std::memory_order_acq_rel); }

  /// Consumer: falls asleep; refused while a message is admitted or a signal is set.
  [[nodiscard]] bool try_sleep() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & (kCount | kSignal)) != 0) return false;
    } while (!word_.compare_exchange_weak(word, word | kAsleep, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return true;
  }

  /// Consumer: falls asleep with whatever there is, because nobody could be found to run it; the next push or signal
  /// wakes it again.
  void sleep_anyway() noexcept { word_.fetch_or(kAsleep, std::memory_order_acq_rel); }

  /// Any thread: makes the consumer look up without a message. True: it was asleep, and the caller has the duty to
  /// wake it.
  [[nodiscard]] bool signal() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(word, (word & ~kAsleep) | kSignal,
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    return (word & kAsleep) != 0;
  }

  /// Consumer: takes the signal back; what was written before signal() is visible after.
  [[nodiscard]] bool take_signal() noexcept {
    if ((word_.load(std::memory_order_relaxed) & kSignal) == 0) return false;
    word_.fetch_and(~kSignal, std::memory_order_acq_rel);
    return true;
  }

  /// Any thread: admits no more. True for the first call.
  bool close() noexcept {
    return (word_.fetch_or(kClosed, std::memory_order_acq_rel) & kClosed) == 0;
  }

  [[nodiscard]] std::size_t count() const noexcept {
    return word_.load(std::memory_order_acquire) & kCount;
  }
  [[nodiscard]] bool closed() const noexcept {
    return (word_.load(std::memory_order_acquire) & kClosed) != 0;
  }
  /// A message or a signal waits.
  [[nodiscard]] bool busy() const noexcept {
    return (word_.load(std::memory_order_acquire) & (kCount | kSignal)) != 0;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kAsleep = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kSignal = std::uint64_t{1} << 61;
  static constexpr std::uint64_t kCount = kSignal - 1;

  std::atomic<std::uint64_t> word_{0};
  const std::size_t capacity_;
};

}  // namespace weft
