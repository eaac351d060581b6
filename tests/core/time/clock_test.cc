#include "weft/core/time/clock.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "weft/core/time/steady_clock.h"
#include "weft/core/time/virtual_clock.h"
#include "weft/tests/fixture/manual_context.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(SteadyClock, NeverGoesBack) {
  const SteadyClock clock;
  TimePoint last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SteadyClock, ExpiresATimerOnItsExecutorNotBeforeItsMoment) {
  boost::asio::io_context context;
  SteadyClock clock;
  TimePoint expired;
  const auto timer = clock.make_timer(context.get_executor(), [&] { expired = clock.now(); });
  const TimePoint when = clock.now() + 2ms;
  timer->arm(when);
  context.run();  // an armed timer is work, so this returns when it has expired
  EXPECT_GE(expired, when);
}

TEST(SteadyClock, ExpiresOnlyTheLatestArming) {
  boost::asio::io_context context;
  SteadyClock clock;
  int expiries = 0;
  const auto timer = clock.make_timer(context.get_executor(), [&] { ++expiries; });
  timer->arm(clock.now());
  timer->arm(clock.now());
  context.run();
  EXPECT_EQ(expiries, 1);
}

TEST(SteadyClock, DoesNotExpireATimerThatWasDisarmedWhenItsHandlerWasQueuedAlready) {
  boost::asio::io_context context;
  SteadyClock clock;
  std::vector<std::unique_ptr<Timer>> timers;
  int expiries = 0;
  // Both are due at once: the reactor queues both handlers together, and the first disarms the
  // second.
  for (int i = 0; i < 2; ++i) {
    timers.push_back(clock.make_timer(context.get_executor(), [&, i] {
      ++expiries;
      timers[static_cast<std::size_t>(1 - i)]->disarm();
    }));
  }
  for (const auto& timer : timers) timer->arm(TimePoint());
  context.run();
  EXPECT_EQ(expiries, 1);
}

TEST(SteadyClock, LetsADestroyedTimerGoWithoutExpiring) {
  boost::asio::io_context context;
  SteadyClock clock;
  bool expired = false;
  auto timer = clock.make_timer(context.get_executor(), [&] { expired = true; });
  timer->arm(clock.now());
  timer.reset();
  context.run();
  EXPECT_FALSE(expired);
}

struct VirtualClockTest : testing::Test {
  std::unique_ptr<Timer> timer(const std::function<void()>& expired) {
    return clock.make_timer(context.get_executor(), expired);
  }

  test::ManualContext context;
  VirtualClock clock;
};

TEST_F(VirtualClockTest, StandsStillUntilItIsAdvanced) {
  EXPECT_EQ(clock.now(), TimePoint());
  clock.advance(3h);
  EXPECT_EQ(clock.now(), TimePoint(3h));
}

TEST_F(VirtualClockTest, ExpiresTimersInTheOrderOfTheirMomentsAndThenOfTheirArming) {
  std::vector<int> order;
  const auto a = timer([&] { order.push_back(1); });
  const auto b = timer([&] { order.push_back(2); });
  const auto c = timer([&] { order.push_back(3); });
  a->arm(TimePoint(20ms));
  b->arm(TimePoint(10ms));
  c->arm(TimePoint(20ms));
  EXPECT_EQ(clock.next_expiry(), TimePoint(10ms));
  EXPECT_EQ(clock.advance(20ms), 3U);
  context.run_all();
  EXPECT_EQ(order, (std::vector{2, 1, 3}));
  EXPECT_EQ(clock.next_expiry(), std::nullopt);
}

TEST_F(VirtualClockTest, LeavesATimerThatIsNotDue) {
  int expiries = 0;
  const auto one = timer([&] { ++expiries; });
  one->arm(TimePoint(10ms));
  clock.advance(9999us);
  context.run_all();
  EXPECT_EQ(expiries, 0);
  clock.advance(1us);
  context.run_all();
  EXPECT_EQ(expiries, 1);
}

TEST_F(VirtualClockTest, ForgetsATimerThatWasDisarmedArmedAnewOrDestroyed) {
  std::vector<int> order;
  const auto disarmed = timer([&] { order.push_back(1); });
  const auto rearmed = timer([&] { order.push_back(2); });
  auto destroyed = timer([&] { order.push_back(3); });
  for (auto* each : {disarmed.get(), rearmed.get(), destroyed.get()}) each->arm(TimePoint(1ms));
  clock.advance(1ms);  // the expiries are posted, and have not run
  disarmed->disarm();
  rearmed->arm(TimePoint(5ms));
  destroyed.reset();
  context.run_all();
  EXPECT_TRUE(order.empty());
  clock.advance(10ms);
  context.run_all();
  EXPECT_EQ(order, (std::vector{2}));
}

}  // namespace
}  // namespace weft
