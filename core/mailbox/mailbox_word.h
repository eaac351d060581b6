#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

/// The outcome of a push.
enum class PushResult {
  kOk,      ///< The message is in; the consumer is awake and will handle it.
  kWoke,    ///< The message is in, the consumer was asleep and this push has woken it.
  kFull,    ///< Not taken, the message is untouched: the mailbox is full.
  kClosed,  ///< Not taken, the message is untouched: the mailbox is closed.
};

/// Whether the mailbox took the message.
[[nodiscard]] constexpr bool taken(PushResult result) noexcept {
  return result == PushResult::kOk || result == PushResult::kWoke;
}

/// All that a mailbox's producers and its consumer agree on, in one atomic word: how many places
/// are taken, and whether the consumer sleeps, was signalled, is hot (see Mailbox), or has closed.
/// Because it is one word, "nothing is left, so I sleep" and "I am in, wake up" cannot pass each
/// other.
///
/// Lock-free. Invariant: asleep implies no place taken, no signal and not hot, but after
/// sleep_anyway().
class MailboxWord {
 public:
  explicit MailboxWord(std::size_t capacity) noexcept : capacity_(capacity) {}

  struct Admission {
    PushResult result;
    std::size_t set_aside;
  };

  /// Producer: takes a place, before the message is put into the queue, and while the mailbox is
  /// hot up to `extra` more for later pushes. After `kWoke` the caller wakes the consumer, once the
  /// message is in the queue, or once it has given the place back.
  [[nodiscard]] Admission admit(std::size_t extra = 0) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    std::size_t aside = 0;
    do {
      if ((word & kClosedBit) != 0) return {PushResult::kClosed, 0};
      const std::size_t count = word & kCountBits;
      if (count >= capacity_) return {PushResult::kFull, 0};
      aside = (word & kHotBit) != 0 ? std::min(extra, capacity_ - count - 1) : 0;
    } while (!word_.compare_exchange_weak(word, (word & ~kAsleepBit) + 1 + aside,
                                          std::memory_order_acq_rel, std::memory_order_relaxed));
    return {(word & kAsleepBit) != 0 ? PushResult::kWoke : PushResult::kOk, aside};
  }

  /// Producer: a place that was set aside may be used.
  [[nodiscard]] bool hot_and_open() const noexcept {
    return (word_.load(std::memory_order_acquire) & (kHotBit | kClosedBit)) == kHotBit;
  }

  /// Gives places back.
  void release(std::size_t count) noexcept { word_.fetch_sub(count, std::memory_order_acq_rel); }

  /// Consumer: turns the mailbox hot, so that producers set places aside; or cold again.
  void heat() noexcept { word_.fetch_or(kHotBit, std::memory_order_acq_rel); }
  void cool() noexcept { word_.fetch_and(~kHotBit, std::memory_order_acq_rel); }

  /// Consumer: gives `taken` places back and falls asleep. Refused, with nothing changed, while
  /// more places are taken or a signal is set.
  [[nodiscard]] bool try_sleep(std::size_t taken = 0) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kSignalBit) != 0 || (word & kCountBits) != taken) return false;
    } while (!word_.compare_exchange_weak(word, (word - taken) | kAsleepBit,
                                          std::memory_order_acq_rel, std::memory_order_relaxed));
    return true;
  }

  /// Consumer: falls asleep even with messages left, because no thread could be found to run it;
  /// the next push or signal wakes it again.
  void sleep_anyway() noexcept { word_.fetch_or(kAsleepBit, std::memory_order_acq_rel); }

  /// Any thread: wakes the consumer without a message. True: the consumer was asleep, and the
  /// caller has the duty to wake it.
  [[nodiscard]] bool signal() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(word, (word & ~kAsleepBit) | kSignalBit,
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    return (word & kAsleepBit) != 0;
  }

  /// Consumer: takes the signal back; writes before signal() are visible after.
  [[nodiscard]] bool take_signal() noexcept {
    if (!signalled()) return false;
    word_.fetch_and(~kSignalBit, std::memory_order_acq_rel);
    return true;
  }

  /// Admits no more pushes.
  void close() noexcept { word_.fetch_or(kClosedBit, std::memory_order_acq_rel); }

  /// The word's state at this moment: places taken or set aside, and the flags. Thread-safe.
  [[nodiscard]] std::size_t count() const noexcept {
    return word_.load(std::memory_order_acquire) & kCountBits;
  }
  [[nodiscard]] bool closed() const noexcept {
    return (word_.load(std::memory_order_acquire) & kClosedBit) != 0;
  }
  [[nodiscard]] bool signalled() const noexcept {
    return (word_.load(std::memory_order_acquire) & kSignalBit) != 0;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  static constexpr std::uint64_t kClosedBit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kAsleepBit = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kSignalBit = std::uint64_t{1} << 61;
  static constexpr std::uint64_t kHotBit = std::uint64_t{1} << 60;
  static constexpr std::uint64_t kCountBits = kHotBit - 1;

  std::atomic<std::uint64_t> word_{0};
  const std::size_t capacity_;
};

}  // namespace weft
