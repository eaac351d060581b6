#include "weft/core/time/virtual_clock.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "weft/core/time/alarm.h"

namespace weft {

class VirtualClock::VirtualTimer final : public Timer {
 public:
  VirtualTimer(VirtualClock& clock, boost::asio::any_io_executor executor,
               std::function<void()> expired)
      : clock_(clock),
        executor_(std::move(executor)),
        alarm_(std::make_shared<Alarm>(std::move(expired))) {}
  ~VirtualTimer() override { VirtualTimer::disarm(); }

  void arm(TimePoint when) override {
    disarm();
    key_ = clock_.enter(*this, when);
  }

  void disarm() override {
    alarm_->renew();
    clock_.leave(key_);
  }

  // Called under the clock's mutex. It posts, since `expired` may arm timers.
  void expire() {
    boost::asio::post(executor_,
                      [alarm = alarm_, arming = alarm_->arming()] { alarm->call(arming); });
  }

 private:
  VirtualClock& clock_;
  boost::asio::any_io_executor executor_;
  std::shared_ptr<Alarm> alarm_;
  Key key_;
};

TimePoint VirtualClock::now() const noexcept {
  return TimePoint(Duration(now_.load(std::memory_order_acquire)));
}

std::unique_ptr<Timer> VirtualClock::make_timer(boost::asio::any_io_executor executor,
                                                std::function<void()> expired) {
  return std::make_unique<VirtualTimer>(*this, std::move(executor), std::move(expired));
}

std::size_t VirtualClock::advance(Duration step) {
  const std::scoped_lock lock(mutex_);
  const TimePoint end = now() + step;
  std::size_t expired = 0;
  while (!armed_.empty() && armed_.begin()->first.first <= end) {
    const auto [key, timer] = *armed_.begin();
    armed_.erase(armed_.begin());
    now_.store(std::max(now(), key.first).time_since_epoch().count(), std::memory_order_release);
    timer->expire();
    ++expired;
  }
  now_.store(end.time_since_epoch().count(), std::memory_order_release);
  return expired;
}

std::optional<TimePoint> VirtualClock::next_expiry() const {
  const std::scoped_lock lock(mutex_);
  if (armed_.empty()) return std::nullopt;
  return armed_.begin()->first.first;
}

VirtualClock::Key VirtualClock::enter(VirtualTimer& timer, TimePoint when) {
  const std::scoped_lock lock(mutex_);
  const Key key(when, ++armings_);
  armed_.emplace(key, &timer);
  return key;
}

void VirtualClock::leave(const Key& key) {
  const std::scoped_lock lock(mutex_);
  armed_.erase(key);
}

}  // namespace weft
