#include "weft/core/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(Gate, CountsItsHolders) {
  Gate gate;
  Gate::Holder first = gate.try_enter();
  EXPECT_TRUE(first);
  {
    const Gate::Holder second = gate.try_enter();
    EXPECT_EQ(gate.holders(), 2U);
  }
  EXPECT_EQ(gate.holders(), 1U);
  first.leave();
  first.leave();
  EXPECT_EQ(gate.holders(), 0U);
}

TEST(Gate, MovesAPlaceWithoutCountingItTwice) {
  Gate gate;
  Gate::Holder first = gate.try_enter();
  Gate::Holder second = std::move(first);
  EXPECT_EQ(gate.holders(), 1U);
  Gate::Holder third = gate.try_enter();
  third = std::move(second);
  EXPECT_EQ(gate.holders(), 1U);
}

TEST(Gate, LetsNobodyInOnceItIsClosed) {
  Gate gate;
  gate.close();
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(gate.try_enter());
}

TEST(Gate, CallsBackAtOnceWhenNobodyIsInside) {
  Gate gate;
  int calls = 0;
  gate.on_empty([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  gate.on_empty([&] { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(Gate, CallsBackWhenTheLastHolderLeavesAndOnlyThen) {
  Gate gate;
  auto first = std::make_unique<Gate::Holder>(gate.try_enter());
  auto second = std::make_unique<Gate::Holder>(gate.try_enter());
  int calls = 0;
  gate.on_empty([&] { ++calls; });
  first.reset();
  EXPECT_EQ(calls, 0);
  second.reset();
  EXPECT_EQ(calls, 1);
}

TEST(Gate, CompletesAnAsioTokenOnItsExecutorNeverWithinTheCall) {
  boost::asio::io_context context;
  Gate gate;
  bool completed = false;
  gate.async_close(context.get_executor(), [&] { completed = true; });
  EXPECT_FALSE(completed);
  context.run();
  EXPECT_TRUE(completed);
}

TEST(Gate, KeepsTheExecutorsContextRunningUntilTheLastHolderLeaves) {
  boost::asio::io_context context;
  Gate gate;
  Gate::Holder holder = gate.try_enter();
  std::future<void> done = gate.async_close(context.get_executor(), boost::asio::use_future);
  std::thread runner([&] { context.run(); });
  holder.leave();
  done.get();
  runner.join();
}

TEST(Gate, LosesNoCallbackWhenHoldersLeaveWhileItCloses) {
  for (int round = 0; round < 2000; ++round) {
    Gate gate;
    std::atomic<int> calls{0};
    std::vector<Gate::Holder> holders;
    for (int i = 0; i < 2; ++i) holders.push_back(gate.try_enter());
    std::thread leaver([&] { holders.clear(); });
    gate.on_empty([&] { calls.fetch_add(1); });
    leaver.join();
    ASSERT_EQ(calls.load(), 1) << "round " << round;
  }
}

#ifdef WEFT_ABORT_ON_INTERNAL_ERROR
TEST(GateDeathTest, CallsItABugToBeDestroyedWhileItIsHeld) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto gate = std::make_unique<Gate>();
        const Gate::Holder holder = gate->try_enter();
        gate.reset();
      },
      "destroyed while it is held");
}
#else
TEST(Gate, LeavesHoldersValidWhenItIsDestroyedTooEarly) {
  auto gate = std::make_unique<Gate>();
  const Gate::Holder holder = gate->try_enter();
  gate.reset();
  EXPECT_TRUE(holder);
}
#endif

}  // namespace
}  // namespace weft
