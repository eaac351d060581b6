#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/ids.h"
#include "weft/gpu/step_device.h"
#include "weft/schedule/group.h"
#include "weft/schedule/tick.h"

namespace weft {

class RequestText;

/// A new token on its way to its text.
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

/// A tick on its way: scheduler -> executor -> scheduler -> detokenizer -> scheduler. Whoever holds
/// it owns it. A plan that waits for the executor can be taken back by the scheduler, to put in what
/// has arrived meanwhile: the two settle by one exchange who has it.
struct PipelineTick : Tick {
  enum class Holder : std::uint8_t {
    kScheduler,
    kQueued,    ///< for the executor, which has not begun it
    kExecutor,
    kDone,      ///< on its way back, or with the detokenizer
  };

  std::vector<TokenEvent> events;   ///< the scheduler's, for the detokenizer
  std::vector<StopHit> stop_hits;   ///< the detokenizer's, for the scheduler
  std::uint64_t number = 0;         ///< the plan's; constant while the tick is under way
  std::uint64_t generation = 0;     ///< of the scheduler that planned it
  std::uint64_t needs_from = 0;     ///< the first tick whose results it may need
  bool due_at_once = false;         ///< another was running when it was planned

  void reserve(const DeviceLimits& limits) {
    Tick::reserve(limits);
    events.reserve(static_cast<std::size_t>(limits.rows));
    stop_hits.reserve(static_cast<std::size_t>(limits.rows));
  }

  /// Owner only.
  void set_holder(Holder holder) noexcept {
    word_.store(word(number, holder), std::memory_order_release);
  }
  /// Scheduler and executor: from the queue to one of them. False when it is not queued as the tick
  /// of this number.
  bool claim(std::uint64_t tick, Holder by) noexcept {
    std::uint64_t expected = word(tick, Holder::kQueued);
    return word_.compare_exchange_strong(expected, word(tick, by), std::memory_order_acq_rel);
  }
  [[nodiscard]] bool held_by(std::uint64_t tick, Holder holder) const noexcept {
    return word_.load(std::memory_order_acquire) == word(tick, holder);
  }
  [[nodiscard]] bool held_by(Holder holder) const noexcept {
    const std::uint64_t now = word_.load(std::memory_order_acquire);
    return now != 0 && (now & 3U) == static_cast<std::uint64_t>(holder);
  }
  [[nodiscard]] bool free() const noexcept { return word_.load(std::memory_order_acquire) == 0; }
  void set_free() noexcept { word_.store(0, std::memory_order_release); }

 private:
  static std::uint64_t word(std::uint64_t tick, Holder holder) noexcept {
    return (tick + 1) << 2U | static_cast<std::uint64_t>(holder);
  }

  std::atomic<std::uint64_t> word_{0};  // number of the tick and holder; 0 = free
};

/// The ticks of one pipeline, made at start-up. More than two that are planned or run, so that the
/// detokenizer may lag behind a little; when it has all of them, ticks wait for it.
class TickPool {
 public:
  static constexpr std::size_t kTicks = 8;

  explicit TickPool(const DeviceLimits& limits) {
    ticks_.reserve(kTicks);
    for (std::size_t i = 0; i < kTicks; ++i) {
      ticks_.push_back(std::make_unique<PipelineTick>());
      ticks_.back()->reserve(limits);
    }
  }

  /// For a new scheduler: what its predecessor had in hand is free.
  void reclaim() noexcept {
    for (const auto& tick : ticks_) {
      if (tick->held_by(PipelineTick::Holder::kScheduler)) tick->set_free();
    }
  }

  /// A free one, or null. For the scheduler.
  [[nodiscard]] PipelineTick* find_free() const noexcept {
    for (const auto& tick : ticks_) {
      if (tick->free()) return tick.get();
    }
    return nullptr;
  }

 private:
  std::vector<std::unique_ptr<PipelineTick>> ticks_;
};

}  // namespace weft
