#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace weft {

using Duration = std::chrono::nanoseconds;
/// A moment on a clock that never goes back. Moments of two different clocks do not compare.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// One alarm of a clock. Owner only: one thread at a time arms, disarms and destroys it.
class Timer {
 public:
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() = default;

  /// Sets the alarm, replacing an earlier one. A moment in the past expires at once.
  virtual void arm(TimePoint when) = 0;
  /// Disarms the timer. A call of `expired` that another thread has already begun still ends; no
  /// call begins after.
  virtual void disarm() = 0;

 protected:
  Timer() = default;
};

/// The source of time. Everything that waits or measures takes a Clock, so that tests decide how
/// time goes. Thread-safe; must outlive its timers.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  /// The present moment; it never goes back.
  [[nodiscard]] virtual TimePoint now() const noexcept = 0;

  /// Makes a timer that calls `expired` on `executor` each time it was armed and its moment has
  /// come. An armed timer counts as work of the executor's context; destroying the timer disarms
  /// it.
  [[nodiscard]] virtual std::unique_ptr<Timer> make_timer(boost::asio::any_io_executor executor,
                                                          std::function<void()> expired) = 0;
};

}  // namespace weft
