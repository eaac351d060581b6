#include "weft/core/actor/actor_core.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/core/time/steady_clock.h"
#include "weft/tests/fixture/manual_context.h"

namespace weft {
namespace {

/// An actor whose mailbox is played by the test, so that things happen between two instructions.
class PlayedActor final : public ActorCore {
 public:
  using ActorCore::ActorCore;

  std::function<bool()> on_sleep = [] { return true; };
  int batches = 0;
  int forced_sleeps = 0;

 private:
  bool try_sleep() noexcept override { return on_sleep(); }
  void sleep_anyway() noexcept override { ++forced_sleeps; }
  bool take_signal() noexcept override { return std::exchange(signal_, false); }
  void signal() noexcept override {
    signal_ = true;
    wake();
  }
  bool busy() const noexcept override { return false; }
  void create(const Error& /*why*/) override {}
  void destroy(const Error& /*why*/) noexcept override {}
  void handle_batch() override { ++batches; }
  bool message_in_hand() const noexcept override { return false; }
  void answer_in_hand(const Error& /*why*/) noexcept override {}
  void answer_waiting(const Error& /*why*/) noexcept override {}
  void close_and_answer(const Error& /*why*/) noexcept override {}

  bool signal_ = false;
};

struct ActorCoreTest : testing::Test {
  ActorCoreTest() {
    environment->executor = context.get_executor();
    environment->clock = std::make_shared<SteadyClock>();
    environment->metrics = std::make_shared<MetricsRegistry>();
    actor = std::make_shared<PlayedActor>(ActorId(1), ActorOptions{.name = "played"}, environment);
  }
  ~ActorCoreTest() override { actor->stop_now(); }

  test::ManualContext context;
  std::shared_ptr<ActorEnvironment> environment = std::make_shared<ActorEnvironment>();
  std::shared_ptr<PlayedActor> actor;
};

TEST_F(ActorCoreTest, RunsAgainWhenItIsWokenJustAfterItsMailboxFellAsleep) {
  int sleeps = 0;
  actor->on_sleep = [&] {
    if (++sleeps == 1) actor->wake();  // acts like a push that found the mailbox asleep
    return true;
  };
  actor->start({});
  context.run_all();
  EXPECT_EQ(actor->batches, 2);
  EXPECT_EQ(sleeps, 2);
}

TEST_F(ActorCoreTest, RunsAgainWhenItsMailboxWouldNotSleep) {
  int sleeps = 0;
  actor->on_sleep = [&] { return ++sleeps == 3; };
  actor->start({});
  context.run_all();
  EXPECT_EQ(actor->batches, 3);
}

TEST_F(ActorCoreTest, HasOneTurnPostedHoweverOftenItIsWoken) {
  actor->start({});
  context.run_all();
  for (int i = 0; i < 3; ++i) actor->wake();
  EXPECT_EQ(context.pending(), 1U);
}

TEST_F(ActorCoreTest, RestsOverWhatWaitsWhenNoTurnCanBePosted) {
  actor->start({});
  context.run_all();
  context.fail_posts(1);
  actor->wake();
  EXPECT_EQ(context.pending(), 0U);
  EXPECT_EQ(actor->forced_sleeps, 1);
  actor->wake();
  EXPECT_EQ(context.pending(), 1U);
}

TEST_F(ActorCoreTest, LeavesAPostedTurnNothingToDoWhenItWasStoppedBefore) {
  actor->start({});
  actor->stop_now();
  context.run_all();
  EXPECT_EQ(actor->batches, 0);
  EXPECT_TRUE(actor->exited());
}

#ifndef WEFT_ABORT_ON_INTERNAL_ERROR
TEST_F(ActorCoreTest, CallsItABugToBeStartedTwice) {
  actor->start({});
  EXPECT_THROW(actor->start({}), InternalError);
}
#endif

}  // namespace
}  // namespace weft
