#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "weft/tests/fixture/deterministic_system.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

struct DoMsg {
  std::function<void(class Alarmed&)> act;
};

struct Expiries {
  std::vector<TimePoint> at;
};

class Alarmed {
 public:
  using Accepts = Protocol<DoMsg>;

  Alarmed(ActorContext& context, std::shared_ptr<Expiries> expiries)
      : context_(context), expiries_(std::move(expiries)) {
    timer.emplace(context_.make_timer([this] { expire(); }));
  }
  void on(DoMsg&& message) { message.act(*this); }
  void undelivered(DoMsg&& /*message*/, const Error& /*why*/) {}

  std::optional<ActorTimer> timer;
  std::function<void()> also = [] {};

 private:
  void expire() {
    expiries_->at.push_back(context_.now());
    also();
  }

  ActorContext& context_;
  std::shared_ptr<Expiries> expiries_;
};

struct ActorTimerTest : testing::Test {
  void act(std::function<void(Alarmed&)> what) {
    play.inject(actor, DoMsg{std::move(what)});
    play.run_all();
  }

  test::DeterministicSystem play;
  std::shared_ptr<Expiries> expiries = std::make_shared<Expiries>();
  ActorRef<Alarmed::Accepts> actor = play.spawn<Alarmed>({.name = "alarmed"}, expiries);
};

TEST_F(ActorTimerTest, RunsItsHandlerAtItsMoment) {
  act([](Alarmed& self) { self.timer->arm_after(10ms); });
  play.advance(9ms);
  EXPECT_TRUE(expiries->at.empty());
  play.advance(1ms);
  EXPECT_EQ(expiries->at, (std::vector{TimePoint(10ms)}));
}

TEST_F(ActorTimerTest, CanBeArmedAgainByItsHandler) {
  act([](Alarmed& self) {
    self.also = [&self] { self.timer->arm_after(10ms); };
    self.timer->arm_after(10ms);
  });
  play.advance(35ms);
  EXPECT_EQ(expiries->at, (std::vector{TimePoint(10ms), TimePoint(20ms), TimePoint(30ms)}));
}

TEST_F(ActorTimerTest, CanBeDestroyedByItsHandler) {
  act([](Alarmed& self) {
    self.also = [&self] { self.timer.reset(); };
    self.timer->arm_after(10ms);
  });
  play.advance(1s);
  EXPECT_EQ(expiries->at.size(), 1U);
}

TEST_F(ActorTimerTest, DoesNotRunWhenItWasDisarmedAfterItsMomentAndBeforeItsTurn) {
  act([](Alarmed& self) { self.timer->arm_after(10ms); });
  play.clock().advance(10ms);
  ASSERT_TRUE(
      play.context().run_one());  // the clock's call: the actor is signalled, its turn is posted
  ASSERT_EQ(play.context().pending(), 1U);
  // A message cannot come before the signal within a turn, so the actor is stopped instead.
  play.stop();
  EXPECT_TRUE(expiries->at.empty());
}

TEST_F(ActorTimerTest, NeedsNoPlaceInAFullMailbox) {
  const auto full = play.spawn<Alarmed>({.name = "full", .capacity = 1}, expiries);
  play.inject(full, DoMsg{[](Alarmed& self) { self.timer->arm_after(10ms); }});
  play.run_all();
  play.inject(full, DoMsg{[](Alarmed&) {}});
  EXPECT_EQ(play.inject(full, DoMsg{[](Alarmed&) {}}), PushResult::kFull);
  play.advance(10ms);
  EXPECT_EQ(expiries->at.size(), 1U);
}

TEST_F(ActorTimerTest, FailsItsActorLikeAMessageDoes) {
  act([](Alarmed& self) {
    self.also = [] { throw std::runtime_error("late"); };
    self.timer->arm_after(10ms);
  });
  play.advance(10ms);
  ASSERT_EQ(play.exits().size(), 1U);
  EXPECT_EQ(play.exits()[0].reason.what, "late");
  EXPECT_TRUE(play.system().ready());
  act([](Alarmed& self) { self.timer->arm_after(10ms); });
  play.advance(10ms);
  EXPECT_EQ(expiries->at.size(), 2U) << "the new instance has a timer of its own";
}

TEST(ActorTimer, WakesAParkedThread) {
  boost::asio::io_context context;
  const auto expiries = std::make_shared<Expiries>();
  {
    ActorSystem system(context.get_executor());
    const auto actor =
        system.spawn<Alarmed>({.name = "parked", .thread = DedicatedThread{.spin = 0ns}}, expiries);
    actor.try_send(DoMsg{[&](Alarmed& self) {
      self.also = [&] { system.request_stop(); };
      self.timer->arm_after(1ms);
    }});
    bool stopped = false;
    // async_stop is only asked for by the handler, so wait for the thread through the gate it
    // holds.
    while (!stopped) {
      context.restart();
      context.run_for(1ms);
      stopped = actor.exited();
    }
  }
  EXPECT_EQ(expiries->at.size(), 1U);
}

}  // namespace
}  // namespace weft
