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

  void arm_at(TimePoint when);
  void arm_after(Duration delay);
  void disarm();

 private:
  friend class ActorContext;
  class Slot;
  friend class ActorCore;
  explicit ActorTimer(std::shared_ptr<Slot> slot) noexcept;

  std::shared_ptr<Slot> slot_;
};

/// What an actor knows about where it runs. Lives as long as the actor; owner only.
class ActorContext {
 public:
  explicit ActorContext(ActorCore& core) noexcept : core_(core) {}
  ActorContext(const ActorContext&) = delete;
  ActorContext& operator=(const ActorContext&) = delete;

  [[nodiscard]] ActorId id() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] TimePoint now() const noexcept;
  /// Returns false once an actor of the system has failed for good.
  [[nodiscard]] bool system_ready() const noexcept;
  [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept;
  [[nodiscard]] ActorTimer make_timer(std::function<void()> handler);

 private:
  ActorCore& core_;
};

}  // namespace weft
