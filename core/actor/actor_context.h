#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "weft/core/ids.h"
#include "weft/core/time/clock.h"

namespace weft {

class ActorCore;

/// A timer whose handler runs like a message of its actor: never beside on(Msg), and under the same
/// supervision. It takes no place in the mailbox. Owner only. After disarm() or destruction the
/// handler does not run.
class ActorTimer {
 public:
  ActorTimer(ActorTimer&&) noexcept;
  ActorTimer& operator=(ActorTimer&&) noexcept;
  ~ActorTimer();

  /// Each function sets the timer and replaces an earlier setting; a past moment expires at once.
  void arm_at(TimePoint when);
  void arm_after(Duration delay);
  /// Disarms the timer: the handler does not run for the last setting.
  void disarm();

 private:
  friend class ActorContext;
  class Slot;
  friend class ActorCore;
  explicit ActorTimer(std::shared_ptr<Slot> slot) noexcept;

  std::shared_ptr<Slot> slot_;
};

/// An actor's view of its surroundings. Lives as long as the actor; owner only.
class ActorContext {
 public:
  explicit ActorContext(ActorCore& core) noexcept : core_(core) {}
  ActorContext(const ActorContext&) = delete;
  ActorContext& operator=(const ActorContext&) = delete;

  [[nodiscard]] ActorId id() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  /// The time on the system's clock.
  [[nodiscard]] TimePoint now() const noexcept;
  /// Returns false once an actor of the system has failed for good.
  [[nodiscard]] bool system_ready() const noexcept;
  /// The system's executor, also for an actor with a thread of its own.
  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept;
  /// Makes a timer that is not armed. An exception out of `handler` counts as one out of on(Msg).
  [[nodiscard]] ActorTimer make_timer(std::function<void()> handler);

 private:
  ActorCore& core_;
};

}  // namespace weft
