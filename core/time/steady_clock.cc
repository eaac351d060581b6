#include "weft/core/time/steady_clock.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <utility>

#include "weft/core/time/alarm.h"

namespace weft {
namespace {

class SteadyTimer final : public Timer {
 public:
  SteadyTimer(const boost::asio::any_io_executor& executor, std::function<void()> expired)
      : timer_(executor), alarm_(std::make_shared<Alarm>(std::move(expired))) {}
  ~SteadyTimer() override { SteadyTimer::disarm(); }

  void arm(TimePoint when) override {
    timer_.expires_at(when);
    // Asio may have queued this handler already when the timer is disarmed, so the alarm checks it.
    timer_.async_wait(
        [alarm = alarm_, arming = alarm_->renew()](const boost::system::error_code& error) {
          if (!error) alarm->call(arming);
        });
  }

  void disarm() override {
    alarm_->renew();
    timer_.cancel();
  }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<Alarm> alarm_;
};

}  // namespace

std::unique_ptr<Timer> SteadyClock::make_timer(boost::asio::any_io_executor executor,
                                               std::function<void()> expired) {
  return std::make_unique<SteadyTimer>(executor, std::move(expired));
}

}  // namespace weft
