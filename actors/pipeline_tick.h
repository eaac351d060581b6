#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/ids.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/step/tick.h"

namespace weft {

class RequestText;

/// A new token before it becomes text.
struct TokenEvent {
  RequestText* text = nullptr;  ///< alive until its request's EndMsg, which comes later
  std::int32_t sequence = 0;
  TokenId token = kNoToken;
  float logprob = 0;
  std::int32_t first_top = 0;  ///< in the tick's result
  std::int32_t top_count = 0;
  SequenceEnd end = SequenceEnd::kNone;
};

/// A sequence whose text has hit a stop string.
struct StopHit {
  RequestId request;
  std::int32_t sequence = 0;
};

/// A tick travels scheduler -> executor -> scheduler -> detokenizer -> free. Its present holder
/// owns it. The scheduler can take back a plan that waits for the executor, to add what has arrived
/// meanwhile; one atomic exchange decides which of the two gets the tick.
///
/// The executor that took it shares it with the other ranks' executors: all read the plan, one
/// writes the result (StepDevice::samples), and the last to leave the tick owns it.
struct PipelineTick : Tick {
  enum class Holder : std::uint8_t {
    kScheduler,
    kQueued,  ///< for the executor, which has not begun it
    kExecutor,
    kDone,    ///< on its way back, or with the detokenizer
    kMissed,  ///< the scheduler, and the executor has dropped its message meanwhile
  };

  std::vector<TokenEvent> events;  ///< from the scheduler to the detokenizer
  std::vector<StopHit> stop_hits;  ///< from the detokenizer to the scheduler
  /// The plan's number among all plans of the pipeline's schedulers; constant while the tick is not
  /// free.
  std::uint64_t number = 0;
  std::uint64_t generation = 0;    ///< the generation of the scheduler that planned it
  std::uint64_t needs_from = 0;    ///< the number of the first tick whose results it may need
  bool due_at_once = false;        ///< every stage had another tick when it was planned
  bool returned = false;           ///< the scheduler's: it has come back from the executors
  std::unique_ptr<Error> failure;  ///< the scheduler's: why it was lost; null also without memory

  void reserve(const DeviceLimits& limits) {
    Tick::reserve(limits);
    events.reserve(static_cast<std::size_t>(limits.rows) *
                   (1 + static_cast<std::size_t>(limits.guesses)));
    stop_hits.reserve(static_cast<std::size_t>(limits.rows));
  }

  /// Owner only.
  void set_holder(Holder holder) noexcept {
    word_.store(word(number, holder), std::memory_order_release);
  }
  /// Called by the executor for a message of this number: takes the tick. Returns false if the tick
  /// is not queued; if the scheduler has it, requeue() will tell the scheduler that the message has
  /// been consumed.
  bool take(std::uint64_t tick) noexcept {
    std::uint64_t now = word(tick, Holder::kQueued);
    for (;;) {
      const bool queued = now == word(tick, Holder::kQueued);
      if (!queued && now != word(tick, Holder::kScheduler)) return false;
      const Holder next = queued ? Holder::kExecutor : Holder::kMissed;
      if (word_.compare_exchange_weak(now, word(tick, next), std::memory_order_acq_rel)) {
        return queued;
      }
    }
  }
  /// Called by the scheduler: takes back the queued tick. Returns false if the executor has taken
  /// it already.
  bool take_back() noexcept {
    std::uint64_t expected = word(number, Holder::kQueued);
    return word_.compare_exchange_strong(expected, word(number, Holder::kScheduler),
                                         std::memory_order_acq_rel);
  }
  /// Called by the scheduler after take_back(). Returns true if the executor needs another
  /// message.
  bool requeue() noexcept {
    const std::uint64_t before =
        word_.exchange(word(number, Holder::kQueued), std::memory_order_acq_rel);
    return before == word(number, Holder::kMissed);
  }
  [[nodiscard]] bool held_by(std::uint64_t tick, Holder holder) const noexcept {
    return word_.load(std::memory_order_acquire) == word(tick, holder);
  }
  [[nodiscard]] bool held_by(Holder holder) const noexcept {
    const std::uint64_t now = word_.load(std::memory_order_acquire);
    return now != 0 && (now & kHolderMask) == static_cast<std::uint64_t>(holder);
  }
  /// Called by the executor that took the tick, before it shares it: so many ranks will run it.
  void begin(std::size_t ranks) noexcept {
    lost_.store(false, std::memory_order_relaxed);
    took_.store({}, std::memory_order_relaxed);
    ranks_left_.store(ranks, std::memory_order_relaxed);
  }
  /// Called by a rank that has not run the tick to its end.
  void lose() noexcept { lost_.store(true, std::memory_order_relaxed); }
  /// Called by a rank with the time of its part. The slowest rank counts, since the others' next
  /// steps wait for it.
  void note_took(Duration time) noexcept {
    Duration most = took_.load(std::memory_order_relaxed);
    while (most < time && !took_.compare_exchange_weak(most, time, std::memory_order_relaxed)) {
    }
  }
  /// Called for ranks that have finished the tick. Returns true if no other rank has it any more.
  [[nodiscard]] bool leave(std::size_t ranks = 1) noexcept {
    return ranks_left_.fetch_sub(ranks, std::memory_order_acq_rel) == ranks;
  }
  /// Owner only, once all ranks have left it.
  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  [[nodiscard]] Duration took() const noexcept { return took_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool free() const noexcept { return word_.load() == 0; }
  void set_free() noexcept { word_.store(0); }

 private:
  static constexpr std::uint64_t kHolderMask = 7;
  static std::uint64_t word(std::uint64_t tick, Holder holder) noexcept {
    return (tick + 1) * (kHolderMask + 1) + static_cast<std::uint64_t>(holder);
  }

  std::atomic<std::uint64_t> word_{0};  // number of the tick and holder; 0 = free
  std::atomic<std::size_t> ranks_left_{0};
  std::atomic<Duration> took_{Duration{}};
  std::atomic<bool> lost_{false};
};

/// The ticks of one pipeline, made at start-up. There are more than can be planned or running, so
/// that the detokenizer may lag a little; if it has all others, the scheduler waits for a free
/// tick.
class TickPool {
 public:
  /// For a device with one stage, where two are planned or running; one more for each other stage.
  static constexpr std::size_t kTicks = 8;

  explicit TickPool(const DeviceLimits& limits) {
    const std::size_t count = kTicks + static_cast<std::size_t>(limits.stages) - 1;
    ticks_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      ticks_.push_back(std::make_unique<PipelineTick>());
      ticks_.back()->reserve(limits);
    }
  }

  /// Called by a new scheduler: frees the ticks that its predecessor held.
  void reclaim() noexcept {
    for (const auto& tick : ticks_) {
      const bool in_hand = tick->held_by(PipelineTick::Holder::kScheduler) ||
                           tick->held_by(PipelineTick::Holder::kMissed);
      if (in_hand) tick->set_free();
    }
  }

  /// For the scheduler: returns a free tick, or null and then lets give_back() report a free one.
  [[nodiscard]] PipelineTick* find_free() noexcept {
    if (PipelineTick* const tick = look()) return tick;
    wanted_.store(true);
    return look();
  }

  /// For the scheduler: notes that it sends the plan of this number to the executor.
  void note_sent(std::uint64_t number) noexcept {
    newest_sent_.store(number, std::memory_order_release);
  }
  /// For the executor: returns the number of the newest plan that was sent. The plan may not be in
  /// the mailbox yet.
  [[nodiscard]] std::uint64_t newest_sent() const noexcept {
    return newest_sent_.load(std::memory_order_acquire);
  }

  /// Frees a tick. Returns true if the scheduler waits for a tick and must be told.
  [[nodiscard]] bool give_back(PipelineTick& tick) noexcept {
    tick.set_free();
    // Both sides are sequentially consistent: either this sees wanted_, or the scheduler's second
    // search finds this tick.
    return wanted_.load() && wanted_.exchange(false);
  }

 private:
  [[nodiscard]] PipelineTick* look() const noexcept {
    for (const auto& tick : ticks_) {
      if (tick->free()) return tick.get();
    }
    return nullptr;
  }

  std::vector<std::unique_ptr<PipelineTick>> ticks_;
  std::atomic<bool> wanted_{false};
  std::atomic<std::uint64_t> newest_sent_{0};
};

}  // namespace weft
