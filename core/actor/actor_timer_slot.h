#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "weft/core/actor/actor_context.h"
#include "weft/core/time/clock.h"

namespace weft {

/// The state that an ActorTimer, its actor and the clock share. The clock's thread sets `expired`
/// and signals the actor; the actor's turn clears it and runs the handler.
class ActorTimer::Slot {
 public:
  Slot(ActorCore& owner, std::function<void()> call) : core(owner), handler(std::move(call)) {}

  static std::shared_ptr<Slot> make(ActorCore& core, std::function<void()> handler);

  [[nodiscard]] bool take_expired() noexcept {
    return expired.exchange(false, std::memory_order_acq_rel);
  }

  ActorCore& core;
  std::function<void()> handler;
  std::unique_ptr<Timer> timer;
  std::atomic<bool> expired{false};
};

}  // namespace weft
