#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

/// What became of a push.
enum class PushResult {
  kOk,      ///< The message is in; the consumer is awake and will come to it.
  kWoke,    ///< The message is in, the consumer was asleep and this push has woken it.
  kFull,    ///< Not taken, the message is untouched: as many wait as may.
  kClosed,  ///< Not taken, the message is untouched: the consumer takes no more.
};

[[nodiscard]] constexpr bool taken(PushResult result) noexcept {
  return result == PushResult::kOk || result == PushResult::kWoke;
}

/// All that a mailbox's producers and its consumer agree on, in one atomic word: how many messages
/// are admitted and not yet taken, whether the consumer sleeps, whether it was signalled, whether
/// the mailbox is closed. Because it is one word, "nothing is left, so I sleep" and "I am in, wake
/// up" cannot pass each other.
///
/// Lock-free. Invariant: asleep implies no admitted message and no signal, but after
/// sleep_anyway().
class MailboxWord {
 public:
  explicit MailboxWord(std::size_t capacity) noexcept : capacity_(capacity) {}

  /// Producer: reserves a place, before the message is put into the queue. After `kWoke` the caller
  /// wakes the consumer, once the message is in the queue, or once it has given the place back.
  [[nodiscard]] PushResult admit() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kClosedBit) != 0) return PushResult::kClosed;
      if ((word & kCountBits) >= capacity_) return PushResult::kFull;
    } while (!word_.compare_exchange_weak(word, (word & ~kAsleepBit) + 1, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return (word & kAsleepBit) != 0 ? PushResult::kWoke : PushResult::kOk;
  }

  /// Whoever took `count` messages out of the queue gives their places back.
  void release(std::size_t count) noexcept { word_.fetch_sub(count, std::memory_order_acq_rel); }

  /// Consumer: falls asleep; refused while a message is admitted or a signal is set.
  [[nodiscard]] bool try_sleep() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & (kCountBits | kSignalBit)) != 0) return false;
    } while (!word_.compare_exchange_weak(word, word | kAsleepBit, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    return true;
  }

  /// Consumer: falls asleep with whatever there is, because nobody could be found to run it; the
  /// next push or signal wakes it again.
  void sleep_anyway() noexcept { word_.fetch_or(kAsleepBit, std::memory_order_acq_rel); }

  /// Any thread: makes the consumer look up without a message. True: it was asleep, and the caller
  /// has the duty to wake it.
  [[nodiscard]] bool signal() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(word, (word & ~kAsleepBit) | kSignalBit,
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    return (word & kAsleepBit) != 0;
  }

  /// Consumer: takes the signal back; what was written before signal() is visible after.
  [[nodiscard]] bool take_signal() noexcept {
    if ((word_.load(std::memory_order_relaxed) & kSignalBit) == 0) return false;
    word_.fetch_and(~kSignalBit, std::memory_order_acq_rel);
    return true;
  }

  /// Any thread: admits no more. True for the first call.
  bool close() noexcept {
    return (word_.fetch_or(kClosedBit, std::memory_order_acq_rel) & kClosedBit) == 0;
  }

  [[nodiscard]] std::size_t count() const noexcept {
    return word_.load(std::memory_order_acquire) & kCountBits;
  }
  [[nodiscard]] bool closed() const noexcept {
    return (word_.load(std::memory_order_acquire) & kClosedBit) != 0;
  }
  /// A message or a signal waits.
  [[nodiscard]] bool busy() const noexcept {
    return (word_.load(std::memory_order_acquire) & (kCountBits | kSignalBit)) != 0;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  static constexpr std::uint64_t kClosedBit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kAsleepBit = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kSignalBit = std::uint64_t{1} << 61;
  static constexpr std::uint64_t kCountBits = kSignalBit - 1;

  std::atomic<std::uint64_t> word_{0};
  const std::size_t capacity_;
};

}  // namespace weft
