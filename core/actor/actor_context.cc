#include "weft/core/actor/actor_context.h"

#include <algorithm>
#include <utility>

#include "weft/core/actor/actor_core.h"
#include "weft/core/actor/actor_timer_slot.h"

namespace weft {

std::shared_ptr<ActorTimer::Slot> ActorTimer::Slot::make(ActorCore& core,
                                                         std::function<void()> handler) {
  auto slot = std::make_shared<Slot>(core, std::move(handler));
  // The pointer is weak, because a call that has begun may outlast both.
  slot->timer = core.environment().clock->make_timer(
      core.environment().executor,
      [weak_slot = std::weak_ptr(slot), weak_core = core.weak_from_this()] {
        const auto live_slot = weak_slot.lock();
        const auto live_core = weak_core.lock();
        if (!live_slot || !live_core) return;
        live_slot->expired.store(true, std::memory_order_release);
        live_core->signal();
      });
  return slot;
}

ActorTimer::ActorTimer(std::shared_ptr<Slot> slot) noexcept : slot_(std::move(slot)) {}
ActorTimer::ActorTimer(ActorTimer&&) noexcept = default;

ActorTimer& ActorTimer::operator=(ActorTimer&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

ActorTimer::~ActorTimer() {
  if (!slot_) return;
  disarm();
  std::erase(slot_->core.timers_, slot_);
}

void ActorTimer::arm_at(TimePoint when) {
  slot_->expired.store(false, std::memory_order_relaxed);
  slot_->timer->arm(when);
}

void ActorTimer::arm_after(Duration delay) {
  arm_at(slot_->core.environment().clock->now() + delay);
}

void ActorTimer::disarm() {
  slot_->timer->disarm();
  slot_->expired.store(false, std::memory_order_relaxed);
}

ActorId ActorContext::id() const noexcept { return core_.id(); }
const std::string& ActorContext::name() const noexcept { return core_.options().name; }
TimePoint ActorContext::now() const noexcept { return core_.environment().clock->now(); }

bool ActorContext::system_ready() const noexcept {
  return core_.environment().ready.load(std::memory_order_acquire);
}

const boost::asio::any_io_executor& ActorContext::executor() const noexcept {
  return core_.environment().executor;
}

ActorTimer ActorContext::make_timer(std::function<void()> handler) {
  auto slot = ActorTimer::Slot::make(core_, std::move(handler));
  core_.timers_.push_back(slot);
  return ActorTimer(std::move(slot));
}

}  // namespace weft
